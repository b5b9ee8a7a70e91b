import { ChainUnavailable, type PaymentStatus, type Terms } from '../../../family'
import { answeredWord } from '../../abi'
import { Data, quantity } from '../../rpc-schemas'
import { unusedPaymentStatus } from '../relayed-payment'
import { confirmedHeight, heightSince, longAgoHeight, voidStatus } from '../../observation/confirmations'
import type { EvmNetwork } from '../../network'
import { PERMIT2 } from './contracts'
import type { PermittedPayment } from './payment'
import { isUsedIn, questions } from './transfer'
import { findSettlement } from './find-settlement'

/** Whether the nonce was used or given up as of a block, by its number: a node that lacks the block refuses. */
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
 * Status of a transfer by Permit2, with transactions of third parties. Permit2 tells that a nonce is used or given up and not by what, so
 * its settlement is looked for among the transfers of the asset from payer to recipient; a nonce that was used so long ago
 * that every node knows, and by no settlement of the last 50,000 blocks, counts as void. Rejects with `ChainUnavailable` where a
 * node that lacks block `seen` may have been asked, or no node can tell what a transaction did.
 */
export async function paymentStatus(
  network: EvmNetwork,
  payment: PermittedPayment,
  terms: Terms,
  seen: bigint,
): Promise<PaymentStatus> {
  const { asset } = terms.token
  const isUsedAt = (block: bigint) => isSpentAt(network, payment, terms, block)
  const height = await heightSince(network, seen)
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
