import { ChainUnavailable, type Fate, type Terms } from '../family'
import type { TxResult } from './answers'
import { askSince, confirmedHeight, isSpentAt, longAgoHeight, sequenceOf, unusable } from './confirmed'
import { hasSequence, sequenceOfPayment, settles } from './mined'
import type { CosmosNetwork } from './network'
import type { CosmosPayment } from './payment'

const lapsed: Fate = {
  status: 'void',
  reason: 'payment_expired',
  detail: 'the timeout height of the transaction passed before anybody had it mined',
}

/**
 * The transaction that took the payment's sequence: its own, or another that the payer signed, be it the same send in other
 * bytes. Undefined where a node that has block `height` knows of none.
 */
async function findTaker(
  network: CosmosNetwork,
  { payer, tx }: CosmosPayment,
  sequence: bigint,
  height: bigint,
): Promise<TxResult | undefined> {
  const { rpc } = network
  const own = await askSince(network, height, rpc.tx(tx.hash))
  if (own?.isCharged) return own
  const other = await askSince(network, height, rpc.txOfSequence(payer, sequence))
  if (other !== undefined && !hasSequence(other, sequence))
    throw new ChainUnavailable(`The node finds ${other.hash} for a sequence that it does not have`)
  return other
}

/**
 * See `Chain.fate`. A payment is told by the sequence it takes, not by its bytes: open while the payer's account is not past
 * it, and void once that went to anything but the send itself. Rejects with `ChainUnavailable` where a node that lacks
 * block `seen` may have been asked.
 */
export async function fate(
  network: CosmosNetwork,
  payment: CosmosPayment,
  terms: Terms,
  seen: bigint,
): Promise<Fate> {
  const { rpc } = network
  const { payer, tx } = payment
  const sequence = sequenceOfPayment(payment)
  const { account, height } = await rpc.accountAt(payer)
  if (height < seen) throw new ChainUnavailable(`The node is at block ${height}, behind ${seen}`)
  const confirmed = confirmedHeight(network, height)
  if (sequenceOf(account) <= sequence)
    return tx.timeoutHeight > 0n && tx.timeoutHeight <= confirmed ? lapsed : { status: 'open' }

  const taker = await findTaker(network, payment, sequence, height)
  if (taker === undefined) {
    if (!(await isSpentAt(network, payer, sequence, longAgoHeight(network, height))))
      return { status: 'pending' }
    // What nobody shows may be the payment itself: a node need not index what is older than itself.
    throw new ChainUnavailable(
      `No node of ${network.name} shows what took the sequence ${sequence} of ${payer}: ask one that indexes transactions, and did then`,
    )
  }
  if (taker.height > confirmed) return { status: 'pending' }
  if (!settles(taker, payment, terms))
    return unusable(
      taker.code === 0
        ? 'another transaction of the payer took the sequence'
        : `the transaction failed with code ${taker.code} (${taker.codespace}): ${taker.log.slice(0, 200)}`,
    )
  if ((await rpc.blockAt(taker.height)) === undefined)
    throw new ChainUnavailable(`The node is behind block ${taker.height}`)
  return { status: 'settled', hash: taker.hash, blockNumber: taker.height }
}
