import { ChainUnavailable } from '../../../errors'
import { type PaymentStatus, type Terms, type Transfer } from '../../../family'
import { answeredWord } from '../../abi'
import { Data, quantity } from '../../rpc-schemas'
import { unusedPaymentStatus } from '../relayed-payment'
import { confirmedHeight, heightSince, longAgoHeight, voidStatus } from '../../observation/confirmations'
import { transferAt } from '../../observation/log-search'
import type { EvmNetwork } from '../../network'
import { PERMIT2 } from './contracts'
import type { PermittedPayment } from './payment'
import { isUsedIn, questions } from './transfer'
import { findSettlement } from './find-settlement'

/** Queries the block by number, because a node that lacks it then refuses. */
export async function isSpentAt(
  { rpc }: EvmNetwork,
  payment: PermittedPayment,
  _terms: Terms,
  block: bigint,
): Promise<boolean> {
  const data = questions.nonceWord(payment)
  const word = answeredWord(await rpc.run(Data, 'eth_call', [{ to: PERMIT2, data }, quantity(block)]))
  if (word === undefined) throw new ChainUnavailable('Permit2 does not tell the state of a nonce')
  return isUsedIn(word, payment)
}

/**
 * See `ChainPayments.paymentStatus`. Permit2 reports that a nonce is used or invalidated, but not by which transaction, so
 * the settlement is searched among the asset's transfers from payer to recipient. A nonce that every node reports as used,
 * without a settlement in the last 50,000 blocks, counts as void. Rejects with `ChainUnavailable` if the node may lack block
 * `minBlock`, or if no node can trace a transaction in question.
 */
export async function paymentStatus(
  network: EvmNetwork,
  payment: PermittedPayment,
  terms: Terms,
  minBlock: bigint,
): Promise<PaymentStatus> {
  const { asset } = terms.token
  const isUsedAt = (block: bigint) => isSpentAt(network, payment, terms, block)
  const height = await heightSince(network, minBlock)
  const confirmed = confirmedHeight(network, height)
  if (!(await isUsedAt(height))) return unusedPaymentStatus(network, payment, confirmed)

  const { searched, use } = await findSettlement(network, height, payment, asset)
  if (use === undefined) {
    const longAgo = longAgoHeight(network, searched)
    return longAgo >= 0n && (await isUsedAt(longAgo))
      ? voidStatus('the nonce was given up, or used for another transfer')
      : { status: 'pending' }
  }
  const { hash, blockNumber } = use
  return blockNumber > confirmed ? { status: 'pending' } : { status: 'settled', hash, blockNumber }
}

/** Equal payments make equal transfers, so the nonce tells them apart. */
export const placeOf = ({ permitNonce }: PermittedPayment): string => `permit2 ${permitNonce}`

/** See `TransferMethod.findTransfer`. */
export async function findTransfer(
  network: EvmNetwork,
  payment: PermittedPayment,
  terms: Terms,
  { minBlock, since }: { minBlock: bigint; since: bigint },
): Promise<Transfer | undefined> {
  const height = await heightSince(network, minBlock)
  if (!(await isSpentAt(network, payment, terms, height))) return undefined
  const { use } = await findSettlement(network, height, payment, terms.token.asset, since)
  return use && transferAt(network, use, placeOf(payment))
}
