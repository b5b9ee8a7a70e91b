import { Menu } from '@mantine/core'
import { buyer } from '../../texts'
import { ConnectedButton } from './connected-button'
import { type ConnectedWallet } from './found-wallets'
import { useWallet } from './wallet-context'

export function WalletMenu({ wallet: { name, address } }: { wallet: ConnectedWallet }) {
  const { disconnect } = useWallet()
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ConnectedButton address={address} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{name}</Menu.Label>
        <Menu.Item onClick={() => void navigator.clipboard.writeText(address)}>
          {buyer.wallet.copyAddress}
        </Menu.Item>
        <Menu.Item onClick={disconnect}>{buyer.wallet.disconnect}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
