import { ChainUnavailable } from '../../errors'
import { type PaymentStatus } from '../../family'
import type { CosmosNetwork } from '../network'
import type { Account } from '../account'

/** Nodes behind one URL differ by fewer blocks than this, and every node keeps the state of this many blocks. */
const MAX_NODE_LAG = 20n

/** The newest confirmed height if the chain is at `height`; below 1 if no block is confirmed. */
export const confirmedHeight = (
  { confirmations }: Pick<CosmosNetwork, 'confirmations'>,
  height: bigint,
): bigint => height - BigInt(confirmations) + 1n

/** The newest height that is confirmed and that every node has reached; below 1 if there is none. */
export function safeHeight(network: CosmosNetwork, height: bigint): bigint {
  const [confirmed, shared] = [confirmedHeight(network, height), height - MAX_NODE_LAG]
  return shared < confirmed ? shared : confirmed
}

/** 0 if the account does not exist. */
export const sequenceOf = (account: Account | undefined): bigint => account?.sequence ?? 0n

/** Whether the sequence was used at `height`. A node without that state is skipped. */
export const isSpentAt = async (
  { rpc }: CosmosNetwork,
  address: string,
  sequence: bigint,
  height: bigint,
): Promise<boolean> => height >= 1n && sequenceOf(await rpc.account(address, height)) > sequence

/** Whether a confirmed transaction used the sequence. */
export async function isSequenceSpent(
  network: CosmosNetwork,
  address: string,
  sequence: bigint,
): Promise<boolean> {
  const { account, height } = await network.rpc.accountAt(address)
  if (sequenceOf(account) <= sequence) return false
  const confirmed = confirmedHeight(network, height)
  return confirmed === height || isSpentAt(network, address, sequence, confirmed)
}

/**
 * The result of a request, if its node has reached `minBlock`: the height is requested in the same batch, so that one node
 * serves both. Otherwise rejects with `ChainUnavailable`, because what the node lacks may be in that block.
 */
export async function resolveFrom<T>(
  { rpc }: CosmosNetwork,
  minBlock: bigint,
  request: Promise<T>,
): Promise<T> {
  const [result, { number }] = await Promise.all([request, rpc.newestBlock()])
  if (number < minBlock) throw new ChainUnavailable(`The node is at block ${number}, behind ${minBlock}`)
  return result
}

/** For a payment that can no longer settle, for another reason than expiry. */
export const voidStatus = (detail: string): PaymentStatus => ({
  status: 'void',
  reason: 'invalid_transaction_state',
  detail,
})
