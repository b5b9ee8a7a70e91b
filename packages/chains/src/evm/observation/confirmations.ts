import { ChainUnavailable } from '../../errors'
import { type PaymentStatus } from '../../family'
import { Quantity, quantity, Receipt, Transaction } from '../rpc-schemas'
import type { EvmNetwork } from '../network'

/** Nodes behind one URL differ by fewer blocks than this, and every node keeps the state of this many blocks. */
const BLOCKS_APART = 20n

/**
 * Two epochs of Ethereum, after which its blocks are final. A rollup's are final once Ethereum has finalized their data, some 15 minutes
 * later: before, its sequencer would have to drop blocks that it has announced that long ago.
 */
export const REORG_DEPTH = 64n

/** The newest confirmed height if the chain is at `height`; below 0 if no block is confirmed. */
export const confirmedHeight = ({ confirmations }: EvmNetwork, height: bigint): bigint =>
  height - BigInt(confirmations) + 1n

/** The newest height that is confirmed and that every node has reached; below 0 if there is none. */
export function longAgoHeight(network: EvmNetwork, height: bigint): bigint {
  const [confirmed, everywhere] = [confirmedHeight(network, height), height - BLOCKS_APART]
  return everywhere < confirmed ? everywhere : confirmed
}

/**
 * The newest height. Rejects with `ChainUnavailable` if the responding node lacks block `minBlock`: nodes behind one URL can
 * differ, and each request may reach another one.
 */
export async function heightSince({ rpc }: EvmNetwork, minBlock: bigint): Promise<bigint> {
  const height = await rpc.height()
  if (height < minBlock) throw new ChainUnavailable(`The node is at block ${height}, behind ${minBlock}`)
  return height
}

/** The account's next nonce at this block. A node that lacks the block is skipped. */
export const nonceAt = ({ rpc }: EvmNetwork, account: string, block: bigint): Promise<bigint> =>
  rpc.call(Quantity, 'eth_getTransactionCount', [account, quantity(block)])

export async function isNonceSpent(network: EvmNetwork, account: string, nonce: bigint): Promise<boolean> {
  const confirmed = confirmedHeight(network, await network.rpc.height())
  return confirmed >= 0n && (await nonceAt(network, account, confirmed)) > nonce
}

export type Mined = { status: 'mined'; receipt: Receipt; isConfirmed: boolean }

/** `mined` requires a receipt for exactly this hash, in a block of the current chain. */
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

/** For a payment that can no longer settle, for another reason than expiry. */
export const voidStatus = (detail: string): Extract<PaymentStatus, { status: 'void' }> => ({
  status: 'void',
  reason: 'invalid_transaction_state',
  detail,
})
