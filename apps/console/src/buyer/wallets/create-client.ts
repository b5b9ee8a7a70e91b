import { createTollgate, type Limits, type Plan, type ProposedPayment, type Tollgate } from '@tollgate/wallet'
import { serviceUrl } from '../../api/api'
import { networkOf } from '../data'
import { type WalletChain } from './change-chain'
import { type ConnectedWallet } from './found-wallets'

type ClientOptions = {
  plans: readonly Plan[]
  /** Only this plan, and then its price is approved. */
  plan?: Plan
  approve: (payment: ProposedPayment) => boolean | Promise<boolean>
  /** After each signature of a payment. */
  onSigned?: () => void
  /** The wallet is asked for no signature. */
  isSilent?: boolean
}

/** A client of the gateway that pays within the prices of `plans`. To be closed. */
export function createClient(
  wallet: ConnectedWallet,
  { plans, plan, approve, onSigned = () => undefined, isSilent = false }: ClientOptions,
): Tollgate {
  return createTollgate({
    url: serviceUrl,
    wallet: wallet.signer({ onSigned, isSilent, chains: chainsOf(plans) }),
    limits: { ...limitsOf(plan ? [plan] : plans), approve },
    nodes: nodesOf(plans),
    ...(plan ? { plan: plan.id } : {}),
  })
}

/** A wallet that does not know the chain of a plan reads it through this gateway. */
const chainsOf = (plans: readonly Plan[]): WalletChain[] =>
  plans
    .filter(({ ecosystem }) => ecosystem === 'evm')
    .map(({ chain_id: id, network: name }) => ({
      id,
      name,
      rpcUrl: `${serviceUrl}/v1/${encodeURIComponent(name)}`,
    }))

/** The price of the dearest plan of each asset, and its recipients. */
function limitsOf(plans: readonly Plan[]): Limits {
  const assets = new Map<string, Limits['assets'][number]>()
  for (const { ecosystem, chain_id, asset_address, amount } of plans) {
    const network = networkOf(ecosystem, chain_id)
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
