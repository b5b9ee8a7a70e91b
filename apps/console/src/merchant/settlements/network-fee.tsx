import { Text } from '@mantine/core'
import { merchant } from '../../texts'
import { NativeFee } from '../../ui/native-fee'

const texts = merchant.settlement

export function NetworkFee({ fee, payer }: { fee: string; payer: string }) {
  if (fee === '0') return texts.noFee
  return (
    <>
      <NativeFee fee={fee} payer={payer} />{' '}
      <Text component="span" size="sm" c="dimmed">
        {texts.paidForYou}
      </Text>
    </>
  )
}
