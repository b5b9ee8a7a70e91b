import { Button, Group, Stack, Text } from '@mantine/core'
import { IconWallet } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { findCosmosWallets, type FoundWallet, watchEvmWallets } from '../../buyer/wallets/found-wallets'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { askForText, useReserve } from './reservation'
import { type PaymentNetwork } from './use-payment-networks'

const texts = merchant.recipients.form

export function ReserveWithWallet({ network }: { network: PaymentNetwork }) {
  const wallets = useWallets().filter(({ ecosystem }) => ecosystem === network.ecosystem)
  const reserve = useReserve()
  const work = useMutation({
    async mutationFn(found: FoundWallet) {
      const wallet = await found.connect({ chainId: network.chainId, isSilent: false })
      if (wallet === undefined) throw new Error(texts.noAccount)
      const challenge = await askForText(network.caip2, wallet.address)
      await reserve(challenge, await wallet.signText(challenge.message))
    },
  })
  if (wallets.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {texts.noWallet}
      </Text>
    )
  return (
    <Stack gap="sm">
      <Text size="sm">{texts.walletText}</Text>
      {work.isError && <Failure error={work.error} />}
      <Group>
        {wallets.map((wallet) => (
          <Button
            key={wallet.id}
            leftSection={<IconWallet size={16} aria-hidden />}
            loading={work.isPending && work.variables.id === wallet.id}
            onClick={() => work.mutate(wallet)}
          >
            {texts.walletAction(wallet.name)}
          </Button>
        ))}
      </Group>
    </Stack>
  )
}

function useWallets(): readonly FoundWallet[] {
  const [announced, setAnnounced] = useState<readonly FoundWallet[]>([])
  useEffect(
    () =>
      watchEvmWallets((found) =>
        setAnnounced((known) => (known.some(({ id }) => id === found.id) ? known : [...known, found])),
      ),
    [],
  )
  return [...announced, ...findCosmosWallets()]
}
