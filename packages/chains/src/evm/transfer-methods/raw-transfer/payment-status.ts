import { ChainUnavailable } from '../../../errors'
import { type PaymentStatus, type Terms, type Transfer } from '../../../family'
import {
  confirmedHeight,
  heightSince,
  findTransaction,
  longAgoHeight,
  nonceAt,
  voidStatus,
} from '../../observation/confirmations'
import { droppedBlock, transferAt } from '../../observation/log-search'
import type { EvmNetwork } from '../../network'
import type { RawTransfer } from './payment'
import { movesOther, placeOf } from './place-of'

export const isSpentAt = async (
  network: EvmNetwork,
  { payer, accountNonce }: RawTransfer,
  _terms: Terms,
  block: bigint,
): Promise<boolean> => block >= 0n && (await nonceAt(network, payer, block)) > accountNonce

/**
 * See `ChainPayments.paymentStatus`. `open` while the payer's account nonce is unused; `void` if another transaction used
 * the nonce, or the transfer failed. Rejects with `ChainUnavailable` if the node may lack block `minBlock` or a confirmed
 * block.
 */
export async function paymentStatus(
  network: EvmNetwork,
  payment: RawTransfer,
  terms: Terms,
  minBlock: bigint,
): Promise<PaymentStatus> {
  const { transaction } = payment
  const height = await heightSince(network, minBlock)
  if (!(await isSpentAt(network, payment, terms, height))) return { status: 'open' }

  const confirmed = confirmedHeight(network, height)
  const [located, has, isSpentLongAgo] = await Promise.all([
    findTransaction(network, transaction.hash),
    network.rpc.height(),
    isSpentAt(network, payment, terms, longAgoHeight(network, height)),
  ])
  if (located.status === 'mined') {
    const { receipt, isConfirmed } = located
    if (!isConfirmed) return { status: 'pending' }
    const { transactionHash: hash, blockNumber } = receipt
    if (receipt.status !== 1n || placeOf(receipt, payment, terms) === undefined) {
      const unsettled = voidStatus('the transaction was mined, and does not hold the transfer')
      const isOther = receipt.status === 1n && movesOther(receipt, payment, terms)
      return isOther ? { ...unsettled, usedIn: { hash, blockNumber } } : unsettled
    }
    return { status: 'settled', hash, blockNumber }
  }
  // A node reports no error for transactions in blocks that it lacks.
  if (has < confirmed) throw new ChainUnavailable(`The node is at block ${has}, behind ${confirmed}`)
  return located.status === 'unknown' && isSpentLongAgo
    ? voidStatus('another transaction of the payer took the account nonce')
    : { status: 'pending' }
}

/** See `TransferMethod.findTransfer`. */
export async function findTransfer(
  network: EvmNetwork,
  payment: RawTransfer,
  terms: Terms,
  { minBlock }: { minBlock: bigint },
): Promise<Transfer | undefined> {
  const { hash } = payment.transaction
  const height = await heightSince(network, minBlock)
  if (!(await isSpentAt(network, payment, terms, height))) return undefined
  const [located, has] = await Promise.all([findTransaction(network, hash), network.rpc.height()])
  // A node reports no error for transactions in blocks that it lacks.
  if (has < height) throw new ChainUnavailable(`The node is at block ${has}, behind ${height}`)
  if (located.status === 'waiting') throw droppedBlock(hash)
  if (located.status === 'unknown' || located.receipt.status !== 1n) return undefined
  const { blockNumber, blockHash } = located.receipt
  const place = placeOf(located.receipt, payment, terms)
  return place === undefined ? undefined : transferAt(network, { hash, blockNumber, blockHash }, place)
}
