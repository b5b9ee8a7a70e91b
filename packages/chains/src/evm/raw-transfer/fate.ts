import { ChainUnavailable, type Fate, type Terms } from '../../family'
import { confirmedHeight, heightSince, locate, longAgoHeight, nonceAt, unusable } from '../confirmed'
import type { EvmNetwork } from '../network'
import type { RawTransfer } from './payment'
import { timeAt } from '../search'
import { settles } from './settles'

/**
 * What became of a transfer: open while the payer's account nonce is unused, and void once the nonce went to another
 * transaction, or the transfer failed. Rejects with `ChainUnavailable` where a node that lacks block `seen`, or a block that
 * is confirmed, may have been asked.
 */
export async function fate(
  network: EvmNetwork,
  payment: RawTransfer,
  terms: Terms,
  seen: bigint,
): Promise<Fate> {
  const { payer, accountNonce, transaction } = payment
  const isSpentAt = async (block: bigint): Promise<boolean> =>
    block >= 0n && (await nonceAt(network, payer, block)) > accountNonce
  const height = await heightSince(network, seen)
  if (!(await isSpentAt(height))) return { status: 'open' }

  const confirmed = confirmedHeight(network, height)
  const [located, has, isSpentLongAgo] = await Promise.all([
    locate(network, transaction.hash),
    network.rpc.height(),
    isSpentAt(longAgoHeight(network, height)),
  ])
  if (located.status === 'mined') {
    const { receipt, isConfirmed } = located
    if (!isConfirmed) return { status: 'pending' }
    if (receipt.status !== 1n || !settles(receipt, payment, terms))
      return unusable('the transaction was mined, and does not hold the transfer')
    const { transactionHash: hash, blockNumber } = receipt
    return { status: 'settled', hash, blockNumber, minedAt: await timeAt(network, blockNumber) }
  }
  // A node that lacks the last blocks does not know what was mined in them, and calls that no error.
  if (has < confirmed) throw new ChainUnavailable(`The node is at block ${has}, behind ${confirmed}`)
  return located.status === 'unknown' && isSpentLongAgo
    ? unusable('another transaction of the payer took the account nonce')
    : { status: 'pending' }
}
