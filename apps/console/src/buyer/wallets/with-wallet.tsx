import { type ReactNode } from 'react'
import { buyer } from '../../texts'
import { Empty } from '../../ui/empty'
import { ConnectButton } from './connect-button'
import { type ConnectedWallet } from './found-wallets'
import { useWallet } from './wallet-context'

/** What is shown of a wallet, or else the way to connect one. */
export function WithWallet({ children }: { children: (wallet: ConnectedWallet) => ReactNode }) {
  const { connected } = useWallet()
  if (connected) return children(connected)
  return (
    <Empty title={buyer.wallet.needed}>
      <ConnectButton />
    </Empty>
  )
}
