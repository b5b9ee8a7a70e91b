import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { allowedStorage } from '../../ui/allowed-storage'
import { type ConnectedWallet, findCosmosWallets, type FoundWallet, watchEvmWallets } from './found-wallets'

type WalletContext = {
  wallets: readonly FoundWallet[]
  connected: ConnectedWallet | undefined
  /** The reader has connected it on this page, so the button that did is gone. */
  isNew: boolean
  connect(wallet: FoundWallet, chainId: string | undefined): Promise<void>
  disconnect(): void
}

const Context = createContext<WalletContext | undefined>(undefined)

const LAST_WALLET = 'tollgate-last-wallet'
const storage = allowedStorage(() => window.localStorage)

export function WalletProvider({ children }: { children: ReactNode }) {
  const [evmWallets, setEvmWallets] = useState<readonly FoundWallet[]>([])
  const [connected, setConnected] = useState<ConnectedWallet>()
  const [isNew, setNew] = useState(false)

  useEffect(
    () =>
      watchEvmWallets((found) => {
        setEvmWallets((known) => (known.some(({ id }) => id === found.id) ? known : [...known, found]))
        if (storage.getItem(LAST_WALLET) === found.family)
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
      isNew,
      async connect(wallet, chainId) {
        const account = await wallet.connect({ chainId, isSilent: false })
        storage.setItem(LAST_WALLET, wallet.family)
        setNew(true)
        setConnected(account)
      },
      disconnect() {
        storage.removeItem(LAST_WALLET)
        setConnected(undefined)
      },
    }),
    [evmWallets, connected, isNew],
  )
  return <Context value={context}>{children}</Context>
}

export function useWallet(): WalletContext {
  const context = useContext(Context)
  if (!context) throw new Error('useWallet needs a WalletProvider')
  return context
}
