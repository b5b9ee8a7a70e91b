import { ChainUnavailable } from '../../family'
import { Quantity } from '../rpc-schemas'
import type { EvmNetwork } from '../network'

/** The most gas that any transaction may have (EIP-7825). */
export const MOST_GAS = 16_777_216n

/** What a transaction offers for each unit of gas, in the native smallest unit (EIP-1559). */
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }

/** What the network asks: to be in a block at all, and to be picked. */
export type Price = { baseFee: bigint; tip: bigint }

/** What the network asks now, with the time of the block that it is read from. */
export async function askPrice({ rpc, name }: EvmNetwork): Promise<Price & { blockTime: bigint }> {
  const [block, tip] = await Promise.all([
    rpc.newestBlock(),
    rpc.call(Quantity, 'eth_maxPriorityFeePerGas', []),
  ])
  if (block.baseFeePerGas === undefined) throw new ChainUnavailable(`${name} names no base fee (EIP-1559)`)
  return { baseFee: block.baseFeePerGas, tip, blockTime: block.timestamp }
}

/** Twice the base fee lasts six full blocks in a row; a fee above the cap is never paid. */
export function feesAt({ baseFee, tip }: Price, cap: bigint): Fees | undefined {
  if (baseFee + tip > cap) return undefined
  const roomy = 2n * baseFee + tip
  return { maxFeePerGas: roomy < cap ? roomy : cap, maxPriorityFeePerGas: tip }
}

/** An eighth more: nodes replace a transaction only by one that offers more of both fees, most of them a tenth more. */
const raised = (fee: bigint): bigint => fee + (fee === 0n ? 1n : (fee + 7n) / 8n)
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** The fees that replace `old` ones at this price; undefined where the cap does not allow them. */
export function feesToReplace(old: Fees, price: Price, cap: bigint): Fees | undefined {
  const fresh = feesAt(price, cap)
  if (fresh === undefined) return undefined
  const maxFeePerGas = larger(fresh.maxFeePerGas, raised(old.maxFeePerGas))
  const maxPriorityFeePerGas = larger(fresh.maxPriorityFeePerGas, raised(old.maxPriorityFeePerGas))
  return maxFeePerGas > cap ? undefined : { maxFeePerGas, maxPriorityFeePerGas }
}

/** A tip of so many times what the network asks in all moves nothing: what still waits then waits for something else. */
const MOST_TIMES = 4n

/** Whether these fees would be in the next block if fees were all that a transaction waits for; to offer more only costs more. */
export const isAmple = (fees: Fees, price: Price): boolean =>
  covers(fees, price) && fees.maxPriorityFeePerGas >= MOST_TIMES * (price.baseFee + price.tip)

/** Whether a transaction of these fees can be in a block of this base fee, and pays its whole tip there. */
export const covers = ({ maxFeePerGas, maxPriorityFeePerGas }: Fees, { baseFee }: Price): boolean =>
  maxFeePerGas >= baseFee + maxPriorityFeePerGas
