import { ChainUnavailable } from '../../errors'
import { Quantity } from '../rpc-schemas'
import type { EvmNetwork } from '../network'

/** Per unit of gas, in the native smallest unit (EIP-1559). */
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }

/** The current price of a unit of gas. */
export type Price = { baseFee: bigint; tip: bigint }

/** `blockTime`: of the block whose base fee this is. */
export async function askPrice({ rpc, name }: EvmNetwork): Promise<Price & { blockTime: bigint }> {
  const [block, tip] = await Promise.all([
    rpc.newestBlock(),
    rpc.call(Quantity, 'eth_maxPriorityFeePerGas', []),
  ])
  if (block.baseFeePerGas === undefined) throw new ChainUnavailable(`${name} names no base fee (EIP-1559)`)
  return { baseFee: block.baseFeePerGas, tip, blockTime: block.timestamp }
}

/** Twice the base fee lasts six full blocks in a row. Undefined if the price exceeds the cap. */
export function feesAt({ baseFee, tip }: Price, cap: bigint): Fees | undefined {
  if (baseFee + tip > cap) return undefined
  const roomy = 2n * baseFee + tip
  return { maxFeePerGas: roomy < cap ? roomy : cap, maxPriorityFeePerGas: tip }
}

/** By an eighth: nodes replace a transaction only if both fees rise, most of them by at least a tenth. */
const raised = (fee: bigint): bigint => fee + (fee === 0n ? 1n : (fee + 7n) / 8n)
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** Undefined if the cap does not allow a replacement. */
export function feesToReplace(old: Fees, price: Price, cap: bigint): Fees | undefined {
  const fresh = feesAt(price, cap)
  if (fresh === undefined) return undefined
  const maxFeePerGas = larger(fresh.maxFeePerGas, raised(old.maxFeePerGas))
  const maxPriorityFeePerGas = larger(fresh.maxPriorityFeePerGas, raised(old.maxPriorityFeePerGas))
  return maxFeePerGas > cap ? undefined : { maxFeePerGas, maxPriorityFeePerGas }
}

/** With a tip of this many times the whole price, a transaction waits for another reason than its fees. */
const MOST_TIMES = 4n

/** Whether higher fees would not get the transaction mined sooner. */
export const isAmple = (fees: Fees, price: Price): boolean =>
  covers(fees, price) && fees.maxPriorityFeePerGas >= MOST_TIMES * (price.baseFee + price.tip)

/** Whether the transaction can be mined at this base fee and pays its whole tip. */
export const covers = ({ maxFeePerGas, maxPriorityFeePerGas }: Fees, { baseFee }: Price): boolean =>
  maxFeePerGas >= baseFee + maxPriorityFeePerGas
