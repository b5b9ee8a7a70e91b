import { Button, Group, Menu, Modal, Stack, Text } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { buyer, shared } from '../../texts'
import { Failure } from '../../ui/failure'
import { usePurchases } from '../purchase/purchase-context'
import { ConnectedButton } from './connected-button'
import { type ConnectedWallet } from './found-wallets'
import { signOut } from './sign-out'
import { useWallet } from './wallet-context'

const texts = buyer.wallet

type Props = { wallet: ConnectedWallet; isOpenAtFirst: boolean }

export function WalletMenu({ wallet, isOpenAtFirst }: Props) {
  const { name, address } = wallet
  const { disconnect } = useWallet()
  const { cancelUnsigned } = usePurchases()
  const { copy } = useClipboard()
  const leaving = useMutation({
    mutationFn() {
      // A purchase that waits for a sign-in would hold up the end of the session.
      cancelUnsigned(address)
      return signOut(wallet)
    },
    onSuccess: disconnect,
  })
  return (
    <>
      <Menu position="bottom-end" defaultOpened={isOpenAtFirst}>
        <Menu.Target>
          <ConnectedButton address={address} loading={leaving.isPending} />
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {name}
            <Text size="xs" className="mono" maw={240} style={{ overflowWrap: 'anywhere' }}>
              {address}
            </Text>
          </Menu.Label>
          <Menu.Item onClick={() => copy(address)}>{texts.copyAddress}</Menu.Item>
          <Menu.Item onClick={() => leaving.mutate()}>{texts.disconnect}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={leaving.isError} onClose={leaving.reset} title={texts.stillSignedIn.title}>
        <Stack>
          <Text>{texts.stillSignedIn.text}</Text>
          <Failure error={leaving.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={disconnect}>
              {texts.stillSignedIn.leave}
            </Button>
            <Button loading={leaving.isPending} onClick={() => leaving.mutate()}>
              {shared.retry}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
