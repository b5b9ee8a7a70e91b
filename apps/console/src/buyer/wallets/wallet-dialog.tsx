import { Alert, Button, Group, Image, Modal, Select, Stack, Text } from '@mantine/core'
import { IconWallet } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { buyer } from '../../texts'
import { Failure } from '../../ui/failure'
import { useChains } from '../data'
import { type FoundWallet } from './found-wallets'
import { useWallet } from './wallet-context'

/** The wallets of this browser, to connect one. */
export const WalletDialog = ({ isOpen, close }: { isOpen: boolean; close: () => void }) => (
  <Modal opened={isOpen} onClose={close} title={buyer.wallet.choose}>
    <WalletList onConnected={close} />
  </Modal>
)

function WalletList({ onConnected }: { onConnected: () => void }) {
  const { wallets, connect } = useWallet()
  const chains = useChains('cosmos')
  const [chosen, setChosen] = useState<string | null>(null)
  const chainId = chosen ?? chains[0]
  const connecting = useMutation({
    mutationFn: (wallet: FoundWallet) => connect(wallet, chainId),
    onSuccess: onConnected,
  })
  const offered = wallets.filter(({ ecosystem }) => ecosystem === 'evm' || chains.length > 0)
  return (
    <Stack>
      {connecting.isError && <Failure error={connecting.error} />}
      {offered.length === 0 && (
        <Alert color="gray" title={buyer.wallet.absent.title}>
          {buyer.wallet.absent.text}
        </Alert>
      )}
      {offered.map((wallet) => (
        <Button
          key={wallet.id}
          variant="default"
          size="md"
          justify="flex-start"
          loading={connecting.isPending && connecting.variables.id === wallet.id}
          leftSection={
            wallet.icon === undefined ? (
              <IconWallet size={22} aria-hidden />
            ) : (
              <Image src={wallet.icon} alt="" w={22} h={22} />
            )
          }
          onClick={() => connecting.mutate(wallet)}
        >
          {wallet.name}
        </Button>
      ))}
      {chains.length > 1 && offered.some(({ ecosystem }) => ecosystem === 'cosmos') && (
        <Select
          label={buyer.wallet.cosmosChain}
          data={chains}
          value={chainId ?? null}
          onChange={setChosen}
          allowDeselect={false}
        />
      )}
      <Group>
        <Text size="sm" c="dimmed">
          {buyer.wallet.nothingYet}
        </Text>
      </Group>
    </Stack>
  )
}
