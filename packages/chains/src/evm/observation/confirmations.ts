import { ChainUnavailable, type PaymentStatus } from '../../family'
import { Quantity, quantity, Receipt, Transaction } from '../rpc-schemas'
import type { EvmNetwork } from '../network'

/** Nodes behind one URL are hardly further apart than this, and every node keeps the state of so many blocks. */
const BLOCKS_APART = 20n

/** Two epochs of Ethereum, after which its blocks are final; chains that build on it drop none so old either. */
export const REORG_DEPTH = 64n

/** The height up to which blocks have the confirmations asked for, as seen from `height`; below 0 where none has. */
export const confirmedHeight = ({ confirmations }: EvmNetwork, height: bigint): bigint =>
  height - BigInt(confirmations) + 1n

/** The height of the newest block that is confirmed and that every node has, as seen from `height`; below 0 where there is none. */
export function longAgoHeight(network: EvmNetwork, height: bigint): bigint {
  const [confirmed, everywhere] = [confirmedHeight(network, height), height - BLOCKS_APART]
  return everywhere < confirmed ? everywhere : confirmed
}

/**
 * The newest height. Behind one URL may be nodes of different height, each question going to another of them: rejects with
 * `ChainUnavailable` where the one that answers lacks block `seen`.
 */
export async function heightSince({ rpc }: EvmNetwork, seen: bigint): Promise<bigint> {
  const height = await rpc.height()
  if (height < seen) throw new ChainUnavailable(`The node is at block ${height}, behind ${seen}`)
  return height
}

/** How many transactions `account` had made as of this block; a node that lacks the block is passed over. */
export const nonceAt = ({ rpc }: EvmNetwork, account: string, block: bigint): Promise<bigint> =>
  rpc.call(Quantity, 'eth_getTransactionCount', [account, quantity(block)])

/** Whether a transaction of `account` with this nonce is mined and confirmed. */
export async function isNonceSpent(network: EvmNetwork, account: string, nonce: bigint): Promise<boolean> {
  const confirmed = confirmedHeight(network, await network.rpc.height())
  return confirmed >= 0n && (await nonceAt(network, account, confirmed)) > nonce
}

export type Mined = { status: 'mined'; receipt: Receipt; isConfirmed: boolean }

/** Where a transaction is: mined only by a receipt for this very hash, in a block that the chain has at its height. */
export async function findTransaction(
  network: EvmNetwork,
  hash: string,
): Promise<{ status: 'unknown' } | { status: 'waiting' } | Mined> {
  const { rpc } = network
  const [receipt, transaction, height] = await Promise.all([
    rpc.call(Receipt.nullable(), 'eth_getTransactionReceipt', [hash]),
    rpc.call(Transaction.nullable(), 'eth_getTransactionByHash', [hash]),
    rpc.height(),
  ])
  if (receipt === null) return { status: transaction === null ? 'unknown' : 'waiting' }
  if (receipt.transactionHash !== hash.toLowerCase())
    throw new ChainUnavailable(`The node answers ${receipt.transactionHash} when asked for ${hash}`)
  const { blockNumber, blockHash } = receipt
  const block = await rpc.blockAt(blockNumber)
  if (block?.hash !== blockHash) return { status: 'waiting' }
  return { status: 'mined', receipt, isConfirmed: blockNumber <= confirmedHeight(network, height) }
}

/** The fate of a payment that no block to come can settle, though it has not lapsed. */
export const voidStatus = (detail: string): Extract<PaymentStatus, { status: 'void' }> => ({
  status: 'void',
  reason: 'invalid_transaction_state',
  detail,
})
