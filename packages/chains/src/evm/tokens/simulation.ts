import { z } from 'zod'
import { type Block, Data, Log, Quantity, quantity } from '../rpc-schemas'
import { decodeReason } from '../revert'
import type { Rpc } from '../rpc'

/** Storage slots, by contract, that `eth_call` and `eth_simulateV1` use in place of the chain's own. */
export type StateOverrides = Readonly<Record<string, { stateDiff: Readonly<Record<string, string>> }>>

/** `from`, `to`: where they differ from those of the other calls. */
export type Call = { data: string; gas: bigint; from?: string; to?: string }
type Calls<Name extends string> = Readonly<Record<Name, Call>>

const Result = z.object({
  status: Quantity,
  returnData: Data,
  logs: z.array(Log),
  error: z.object({ message: z.string() }).nullish(),
})
export type Result = z.infer<typeof Result>

export const succeeded = ({ status }: Result): boolean => status === 1n

/** Senders need no real ether, because nothing is sent. */
const PLENTY = quantity(2n ** 100n)

/**
 * Simulates calls, of the contract `to` by `from` unless they say otherwise, as transactions (`eth_simulateV1`) in the block after
 * `block` and in one at `later.time`. Each call sees the state after the one before; nothing is sent. Rejects with `ChainUnavailable` if no node
 * responds, and with `MethodMissing` if none has the method.
 */
export async function simulate<Now extends string, Later extends string>(
  rpc: Rpc,
  { from, to, storage, block }: { from: string; to: string; storage: StateOverrides; block: Block },
  now: Calls<Now>,
  later: { time: bigint; calls: Calls<Later> },
): Promise<Record<Now | Later, Result>> {
  // The base fee and gas price of a real block: without them a contract can detect the simulation.
  const baseFee = block.baseFeePerGas ?? 0n
  const gasPrice = quantity(2n * baseFee + 1n)
  const transactions = (calls: Calls<string>) =>
    Object.values(calls).map(({ gas, ...call }) => ({ from, to, ...call, gas: quantity(gas), gasPrice }))
  const senders = new Set([from, ...Object.values<Call>(now).map((call) => call.from ?? from)])
  const funds = Object.fromEntries([...senders].map((sender) => [sender, { balance: PLENTY }]))
  const blockStateCalls = [
    {
      blockOverrides: { baseFeePerGas: quantity(baseFee) },
      stateOverrides: { ...storage, ...funds },
      calls: transactions(now),
    },
    {
      blockOverrides: { baseFeePerGas: quantity(baseFee), time: quantity(later.time) },
      calls: transactions(later.calls),
    },
  ]
  const Simulated = z.tuple([resultsOf(now), resultsOf(later.calls)])
  const blocks = await rpc.call(Simulated, 'eth_simulateV1', [
    { blockStateCalls, validation: false },
    'latest',
  ])
  const names = [...Object.keys(now), ...Object.keys(later.calls)]
  const results = blocks.flatMap(({ calls }) => calls)
  return Object.fromEntries(names.map((name, i) => [name, results[i]])) as Record<Now | Later, Result>
}

const resultsOf = (calls: Calls<string>) =>
  z.object({ calls: z.array(Result).length(Object.keys(calls).length) })

/** At most 120 printable ASCII characters. */
export const printable = (text: string): string => text.slice(0, 120).replace(/[^\x20-\x7e]/g, '?')

export function reasonOf({ returnData, error }: Result): string {
  return decodeReason(returnData) ?? error?.message ?? 'it gives no reason'
}
