import { Text } from '@mantine/core'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { readableNumber } from '../../ui/format'

const GWEI_DECIMALS = 9
const texts = merchant.settlement

/** In gwei on EVM networks, whose payers have hex addresses; elsewhere in the smallest unit of the network's currency. */
export function NetworkFee({ fee, payer }: { fee: string; payer: string }) {
  if (fee === '0') return texts.noFee
  return (
    <>
      {payer.startsWith('0x') ? (
        <Amount amount={fee} decimals={GWEI_DECIMALS} symbol="gwei" />
      ) : (
        texts.smallestUnits(readableNumber(BigInt(fee)))
      )}{' '}
      <Text component="span" size="sm" c="dimmed">
        {texts.paidForYou}
      </Text>
    </>
  )
}
