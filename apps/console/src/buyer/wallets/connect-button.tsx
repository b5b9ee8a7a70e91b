import { Button, VisuallyHidden } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconWallet } from '@tabler/icons-react'
import { messageOf } from '../../api/api-error'
import { buyer, shared } from '../../texts'
import { useCode } from '../../ui/use-code'
import { ConnectedButton } from './connected-button'
import { type ConnectedWallet } from './found-wallets'
import { useWallet } from './wallet-context'

/** Connects a wallet of this browser, or shows the connected one. */
export function ConnectButton() {
  const { connected } = useWallet()
  return connected ? <Connected wallet={connected} /> : <Connect />
}

function Connected({ wallet }: { wallet: ConnectedWallet }) {
  const { data: code } = useCode('wallet-menu', () => import('./wallet-menu'))
  // Pressed before the code was there: the menu opens as soon as it is.
  const [isWanted, { open }] = useDisclosure(false)
  return code ? (
    <code.WalletMenu wallet={wallet} isOpenAtFirst={isWanted} />
  ) : (
    <ConnectedButton address={wallet.address} onClick={open} loading={isWanted} />
  )
}

function Connect() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const dialog = useCode('wallet-dialog', () => import('./wallet-dialog'), { isNeeded: isOpen })
  return (
    <>
      <Button
        onClick={dialog.isError ? () => void dialog.refetch() : open}
        loading={isOpen && dialog.isFetching}
        leftSection={<IconWallet size={16} aria-hidden />}
      >
        {dialog.isError ? shared.retry : buyer.wallet.connect}
      </Button>
      {dialog.isError && <VisuallyHidden role="alert">{messageOf(dialog.error)}</VisuallyHidden>}
      {dialog.data && <dialog.data.WalletDialog isOpen={isOpen} close={close} />}
    </>
  )
}
