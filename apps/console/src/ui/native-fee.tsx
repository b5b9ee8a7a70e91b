import { shared } from '../texts'
import { Amount } from './amount'
import { readableNumber } from './format'

const GWEI_DECIMALS = 9

/** In gwei on EVM networks, whose payers have hex addresses; elsewhere in the smallest unit of the network's currency. */
export const NativeFee = ({ fee, payer }: { fee: string; payer: string }) =>
  payer.startsWith('0x') ? (
    <Amount amount={fee} decimals={GWEI_DECIMALS} symbol="gwei" />
  ) : (
    shared.smallestUnits(readableNumber(BigInt(fee)))
  )
