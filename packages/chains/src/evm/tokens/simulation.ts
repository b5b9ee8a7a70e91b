import { z } from 'zod'
import { type Block, Data, Log, Quantity, quantity } from '../rpc-schemas'
import { decodeReason } from '../revert'
import type { Rpc } from '../rpc'

/** Storage slots, by contract, that `eth_call` and `eth_simulateV1` use in place of the chain's own. */
export type StateOverrides = Readonly<Record<string, { stateDiff: Readonly<Record<string, string>> }>>

export type Call = { data: string; gas: bigint }
type Calls<Name extends string> = Readonly<Record<Name, Call>>

const Result = z.object({
  status: Quantity,
  returnData: Data,
  logs: z.array(Log),
  error: z.object({ message: z.string() }).nullish(),
})
/** What became of a call: what it answered, or how it failed, and its events. */
export type Result = z.infer<typeof Result>

export const succeeded = ({ status }: Result): boolean => status === 1n

/** The signer needs no real ether for what is never sent. */
const PLENTY = quantity(2n ** 100n)

/**
 * Simulates calls of one contract as transactions of `from` (`eth_simulateV1`), in the block after `block` and in one at
 * `later.time`: each sees the state that the one before it left, and nothing is sent. Rejects with `ChainUnavailable` where
 * no node answers, and with `MethodMissing` where none has the method.
 */
export async function simulate<Now extends string, Later extends string>(
  rpc: Rpc,
  { from, to, storage, block }: { from: string; to: string; storage: StateOverrides; block: Block },
  now: Calls<Now>,
  later: { time: bigint; calls: Calls<Later> },
): Promise<Record<Now | Later, Result>> {
  // A base fee and a price as a real block has them: without them a contract can detect the simulation.
  const baseFee = block.baseFeePerGas ?? 0n
  const gasPrice = quantity(2n * baseFee + 1n)
  const transactions = (calls: Calls<string>) =>
    Object.values(calls).map(({ data, gas }) => ({ from, to, data, gas: quantity(gas), gasPrice }))
  const blockStateCalls = [
    {
      blockOverrides: { baseFeePerGas: quantity(baseFee) },
      stateOverrides: { ...storage, [from]: { balance: PLENTY } },
      calls: transactions(now),
    },
    {
      blockOverrides: { baseFeePerGas: quantity(baseFee), time: quantity(later.time) },
      calls: transactions(later.calls),
    },
  ]
  const Simulated = z.tuple([resultsOf(now), resultsOf(later.calls)])
  const told = await rpc.call(Simulated, 'eth_simulateV1', [{ blockStateCalls, validation: false }, 'latest'])
  const names = [...Object.keys(now), ...Object.keys(later.calls)]
  const results = told.flatMap(({ calls }) => calls)
  return Object.fromEntries(names.map((name, i) => [name, results[i]])) as Record<Now | Later, Result>
}

const resultsOf = (calls: Calls<string>) =>
  z.object({ calls: z.array(Result).length(Object.keys(calls).length) })

/** A contract's own words, short and on one line. */
export const printable = (text: string): string => text.slice(0, 120).replace(/[^\x20-\x7e]/g, '?')

/** Why a call failed, as its contract or else the node puts it. */
export function reasonOf({ returnData, error }: Result): string {
  return decodeReason(returnData) ?? error?.message ?? 'it gives no reason'
}
