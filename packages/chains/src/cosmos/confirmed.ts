import { ChainUnavailable, type Fate } from '../family'
import type { CosmosNetwork } from './network'
import type { Account } from './account'

/** Nodes behind one URL are hardly further apart than this, and every node keeps the state of so many blocks. */
export const BLOCKS_APART = 20n

/** The height up to which blocks have the confirmations asked for, as seen from `height`; below 1 where none has. */
export const confirmedHeight = (
  { confirmations }: Pick<CosmosNetwork, 'confirmations'>,
  height: bigint,
): bigint => height - BigInt(confirmations) + 1n

/** The height of the newest block that is confirmed and that every node has, as seen from `height`; below 1 where there is none. */
export function longAgoHeight(network: CosmosNetwork, height: bigint): bigint {
  const [confirmed, everywhere] = [confirmedHeight(network, height), height - BLOCKS_APART]
  return everywhere < confirmed ? everywhere : confirmed
}

/** Of an account that a chain has never heard of, as of any other that has made no transaction: 0. */
export const sequenceOf = (account: Account | undefined): bigint => account?.sequence ?? 0n

/** Whether a transaction of `address` took this sequence in a block up to `height`; a node that lacks its state is passed over. */
export const isSpentAt = async (
  { rpc }: CosmosNetwork,
  address: string,
  sequence: bigint,
  height: bigint,
): Promise<boolean> => height >= 1n && sequenceOf(await rpc.account(address, height)) > sequence

/** Whether a transaction of `address` with this sequence is mined and confirmed. */
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
 * An answer and how far the node is that gave it: the two are asked together, so that one node gives both. Rejects with
 * `ChainUnavailable` where that node lacks block `seen`: what it does not find may stand there.
 */
export async function askSince<T>({ rpc }: CosmosNetwork, seen: bigint, answer: Promise<T>): Promise<T> {
  const [found, { number }] = await Promise.all([answer, rpc.newestBlock()])
  if (number < seen) throw new ChainUnavailable(`The node is at block ${number}, behind ${seen}`)
  return found
}

/** The fate of a payment that no block to come can settle, though it has not lapsed. */
export const unusable = (detail: string): Fate => ({
  status: 'void',
  reason: 'invalid_transaction_state',
  detail,
})
