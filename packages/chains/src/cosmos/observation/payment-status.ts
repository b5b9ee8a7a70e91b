import { ChainUnavailable } from '../../errors'
import { type PaymentStatus, type Terms, type Transfer } from '../../family'
import type { TxResult } from '../rpc-schemas'
import { resolveFrom, confirmedHeight, isSpentAt, safeHeight, sequenceOf, voidStatus } from './confirmations'
import { hasSequence, ONLY_TRANSFER, sequenceOfPayment, settles } from './tx-result'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../transfer-methods/bank-send/payment'
import { checkSigned } from '../transfer-methods/bank-send/verify'

const expired: PaymentStatus = {
  status: 'void',
  reason: 'payment_expired',
  detail: 'the transaction was not mined before its timeout height',
}

/**
 * The mined transaction that used the payment's sequence: its own or another of the payer, possibly the same send in
 * other bytes. Undefined if a node at `height` or above finds none.
 */
async function findTransactionOfSequence(
  network: CosmosNetwork,
  { payer, tx }: CosmosPayment,
  sequence: bigint,
  height: bigint,
): Promise<TxResult | undefined> {
  const { rpc } = network
  const own = await resolveFrom(network, height, rpc.tx(tx.hash))
  if (own?.isCharged) return own
  const other = await resolveFrom(network, height, rpc.txOfSequence(payer, sequence))
  if (other !== undefined && !hasSequence(other, sequence))
    throw new ChainUnavailable(`The node found ${other.hash} for a sequence that it does not use`)
  return other
}

/**
 * See `ChainPayments.paymentStatus`. The payer's sequence decides, not the bytes of the transaction: `open` until the sequence is
 * used, `void` if anything but the same send used it.
 */
export async function paymentStatus(
  network: CosmosNetwork,
  payment: CosmosPayment,
  terms: Terms,
  minBlock: bigint,
): Promise<PaymentStatus> {
  const { rpc } = network
  const { payer, tx } = payment
  const sequence = sequenceOfPayment(payment)
  const { account, height } = await rpc.accountAt(payer)
  if (height < minBlock) throw new ChainUnavailable(`The node is at block ${height}, behind ${minBlock}`)
  const confirmed = confirmedHeight(network, height)
  if (sequenceOf(account) <= sequence)
    return tx.timeoutHeight > 0n && tx.timeoutHeight <= confirmed ? expired : { status: 'open' }

  const result = await findTransactionOfSequence(network, payment, sequence, height)
  if (result === undefined) {
    if (!(await isSpentAt(network, payer, sequence, safeHeight(network, height))))
      return { status: 'pending' }
    // It may be the payment itself: a node may not index blocks from before its own start.
    throw new ChainUnavailable(
      `No node of ${network.name} finds the transaction with the sequence ${sequence} of ${payer}: configure a node whose transaction index covers it`,
    )
  }
  if (result.height > confirmed) return { status: 'pending' }
  if (!settles(result, payment, terms))
    return voidStatus(
      result.code === 0
        ? 'another transaction of the payer used the sequence'
        : `the transaction failed with code ${result.code} (${result.codespace}): ${result.log.slice(0, 200)}`,
    )
  if ((await rpc.blockAt(result.height)) === undefined)
    throw new ChainUnavailable(`The node is behind block ${result.height}`)
  return { status: 'settled', hash: result.hash, blockNumber: result.height }
}

/** See `ChainPayments.findTransfer`. */
export async function findTransfer(
  network: CosmosNetwork,
  payment: CosmosPayment,
  terms: Terms,
  minBlock: bigint,
): Promise<Transfer | undefined> {
  const { rpc } = network
  const sequence = sequenceOfPayment(payment)
  const { account, height } = await rpc.accountAt(payment.payer, { minBlock })
  if (sequenceOf(account) <= sequence) return undefined
  const result = await findTransactionOfSequence(network, payment, sequence, height)
  if (result === undefined) {
    if (await isSpentAt(network, payment.payer, sequence, safeHeight(network, height))) return undefined
    // A node indexes a block a moment after it has the state.
    throw new ChainUnavailable(
      `No node of ${network.name} finds the transaction with the sequence ${sequence}`,
    )
  }
  if (!settles(result, payment, terms)) return undefined
  const block = await rpc.blockAt(result.height)
  if (block === undefined) throw new ChainUnavailable(`The node is behind block ${result.height}`)
  if (await checkSigned({ network, payment, terms, reserved: 0n, minBlock })) return undefined
  return { hash: result.hash, blockNumber: result.height, time: block.timestamp, place: ONLY_TRANSFER }
}
