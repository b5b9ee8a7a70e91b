import { createTollgate, type Limits, type Plan, type ProposedPayment, type Tollgate } from '@tollgate/wallet'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { serviceUrl } from '../../api/api'
import { type ConnectedWallet, findCosmosWallets, type FoundWallet, watchEvmWallets } from './found-wallets'

type ClientOptions = {
  plans: readonly Plan[]
  /** Only this plan, and then its price is approved. */
  plan?: Plan
  approve: (payment: ProposedPayment) => boolean | Promise<boolean>
  onSigned?: () => void
}

type WalletContext = {
  wallets: readonly FoundWallet[]
  connected: ConnectedWallet | undefined
  connect(wallet: FoundWallet, chainId: string | undefined): Promise<void>
  disconnect(): void
  /** A client of the gateway that pays within the prices of `plans`. To be closed. */
  createClient(options: ClientOptions): Tollgate
}

const Context = createContext<WalletContext | undefined>(undefined)

const LAST_WALLET = 'tollgate-last-wallet'

export function WalletProvider({ children }: { children: ReactNode }) {
  const [evmWallets, setEvmWallets] = useState<readonly FoundWallet[]>([])
  const [connected, setConnected] = useState<ConnectedWallet>()

  useEffect(
    () =>
      watchEvmWallets((found) => {
        setEvmWallets((known) => (known.some(({ id }) => id === found.id) ? known : [...known, found]))
        if (localStorage.getItem(LAST_WALLET) === found.id)
          found.connect({ chainId: undefined, isSilent: true }).then(
            (wallet) => setConnected((current) => current ?? wallet),
            () => undefined,
          )
      }),
    [],
  )

  useEffect(() => connected?.watch(() => setConnected(undefined)), [connected])

  const context = useMemo<WalletContext>(
    () => ({
      wallets: [...evmWallets, ...findCosmosWallets()],
      connected,
      async connect(wallet, chainId) {
        const account = await wallet.connect({ chainId, isSilent: false })
        localStorage.setItem(LAST_WALLET, wallet.id)
        setConnected(account)
      },
      disconnect() {
        localStorage.removeItem(LAST_WALLET)
        setConnected(undefined)
      },
      createClient(options) {
        if (!connected) throw new Error('No wallet is connected')
        return clientOf(connected, options)
      },
    }),
    [evmWallets, connected],
  )
  return <Context value={context}>{children}</Context>
}

export function useWallet(): WalletContext {
  const context = useContext(Context)
  if (!context) throw new Error('useWallet needs a WalletProvider')
  return context
}

function clientOf(wallet: ConnectedWallet, { plans, plan, approve, onSigned }: ClientOptions): Tollgate {
  return createTollgate({
    url: serviceUrl,
    wallet: wallet.signer(onSigned ?? (() => undefined)),
    limits: { ...limitsOf(plan ? [plan] : plans), approve },
    nodes: nodesOf(plans),
    ...(plan ? { plan: plan.id } : {}),
  })
}

/** The price of the dearest plan of each asset, and its recipients. */
function limitsOf(plans: readonly Plan[]): Limits {
  const assets = new Map<string, Limits['assets'][number]>()
  for (const { ecosystem, chain_id, asset_address, amount } of plans) {
    const network = `${ecosystem === 'evm' ? 'eip155' : ecosystem}:${chain_id}`
    const key = `${network} ${asset_address}`
    const known = BigInt(assets.get(key)?.perPayment ?? 0)
    const perPayment = known > BigInt(amount) ? known : BigInt(amount)
    assets.set(key, { network, asset: asset_address, perPayment })
  }
  return { assets: [...assets.values()], recipients: plans.map(({ pay_to }) => pay_to) }
}

/** The gateway reads the payer's account for the page, which may ask no other host. */
const nodesOf = (plans: readonly Plan[]) =>
  Object.fromEntries(
    plans
      .filter(({ ecosystem }) => ecosystem === 'cosmos')
      .map(({ chain_id }) => [chain_id, `${serviceUrl}/accounts/${encodeURIComponent(chain_id)}`]),
  )
