import { ChainUnavailable, type PaymentStatus, type Terms } from '../../../family'
import { answeredWord } from '../../abi'
import { Data, type Log, quantity, Receipt } from '../../rpc-schemas'
import { unusedPaymentStatus } from '../relayed-payment'
import { confirmedHeight, heightSince, longAgoHeight, voidStatus } from '../../observation/confirmations'
import type { EvmNetwork } from '../../network'
import { eventsWithin, type Place, placeOf, searchBack } from '../../observation/log-search'
import {
  calls,
  holdsBareUse,
  holdsOtherTransfer,
  holdsOtherUse,
  holdsTransfer,
  holdsUse,
  payerTopics,
  spentTopics,
} from './authorization'
import type { AuthorizedPayment } from './payment'

/** Where the authorization of `payment` was used or cancelled, newest blocks first. */
async function findUse(
  network: EvmNetwork,
  height: bigint,
  payment: AuthorizedPayment,
  asset: string,
): Promise<Place | undefined> {
  for await (const logs of searchBack(network, height, { address: asset, topics: spentTopics(payment) })) {
    const [place] = logs.flatMap((log) => placeOf(log) ?? [])
    if (place !== undefined) return place
  }
  return undefined
}

/**
 * What the token says of the payer where the authorization was used, by the receipt and by the block: others can make either too
 * long to read, and hardly both; what is read must agree, and `isWhole` where both are read. Undefined where the chain has another
 * block there.
 */
async function eventsOfUse(
  network: EvmNetwork,
  use: Place,
  payment: AuthorizedPayment,
  asset: string,
): Promise<{ events: Log[]; isWhole: boolean } | undefined> {
  const { rpc } = network
  const [ofBlock, receipt] = await Promise.allSettled([
    eventsWithin(network, use, { address: asset, topics: payerTopics(payment) }),
    rpc.call(Receipt.nullable(), 'eth_getTransactionReceipt', [use.hash]),
  ])
  if (receipt.status === 'rejected') {
    if (ofBlock.status === 'rejected') throw ofBlock.reason
    return ofBlock.value && { events: ofBlock.value, isWhole: false }
  }
  if (ofBlock.status === 'rejected' && (await rpc.blockAt(use.blockNumber))?.hash !== use.blockHash)
    return undefined
  const events = ofBlock.status === 'rejected' ? receipt.value?.logs : ofBlock.value
  if (events === undefined) return undefined
  if (!isReceiptOf(receipt.value, use) || !agree(events, receipt.value.logs, asset, payment))
    throw new ChainUnavailable(`The node tells of ${use.hash} in a block what its receipt does not`)
  return { events, isWhole: ofBlock.status === 'fulfilled' }
}

const isReceiptOf = (receipt: Receipt | null, { hash, blockHash }: Place): receipt is Receipt =>
  receipt?.status === 1n && receipt.transactionHash === hash && receipt.blockHash === blockHash

const agree = (some: readonly Log[], others: readonly Log[], asset: string, payment: AuthorizedPayment) =>
  [holdsUse, holdsTransfer, holdsOtherUse].every(
    (holds) => holds(some, asset, payment) === holds(others, asset, payment),
  )

/**
 * Whether the authorization was used or cancelled as of a block, by its number: a node that lacks the block refuses, where it has
 * a `latest` of its own.
 */
export async function isSpentAt(
  { rpc }: EvmNetwork,
  payment: AuthorizedPayment,
  { token: { asset } }: Terms,
  block: bigint,
): Promise<boolean> {
  const data = calls.isAuthorizationUsed(payment)
  const used = answeredWord(await rpc.run(Data, 'eth_call', [{ to: asset, data }, quantity(block)]))
  if (used === undefined) throw new ChainUnavailable(`${asset} does not tell the state of an authorization`)
  return used !== 0n
}

/**
 * Status of an authorization, with transactions of third parties. One that was used more than 50,000 blocks ago counts as void. Behind one URL may be nodes of different height, each question going to another of them: rejects with
 * `ChainUnavailable` where a node that lacks block `seen`, or the event of an authorization that was used only lately, may
 * have been asked.
 */
export async function paymentStatus(
  network: EvmNetwork,
  payment: AuthorizedPayment,
  terms: Terms,
  seen: bigint,
): Promise<PaymentStatus> {
  const { asset } = terms.token
  const isUsedAt = (block: bigint) => isSpentAt(network, payment, terms, block)
  const height = await heightSince(network, seen)
  const confirmed = confirmedHeight(network, height)
  if (!(await isUsedAt(height))) return unusedPaymentStatus(network, payment, confirmed)

  const use = await findUse(network, height, payment, asset)
  if (use === undefined) {
    const longAgo = longAgoHeight(network, height)
    if (longAgo >= 0n && (await isUsedAt(longAgo)))
      return voidStatus('the authorization was used or cancelled longer ago than anybody looks back')
    throw new ChainUnavailable('The node knows of an authorization used lately, and not of its event')
  }
  const told = await eventsOfUse(network, use, payment, asset)
  if (told === undefined || use.blockNumber > confirmed) return { status: 'pending' }
  const { events, isWhole } = told
  if (!holdsUse(events, asset, payment))
    throw new ChainUnavailable(
      `The node finds the use of an authorization in ${use.hash}, which does not hold it`,
    )
  const { hash, blockNumber } = use
  if (holdsTransfer(events, asset, payment)) return { status: 'settled', hash, blockNumber }
  if (isWhole && holdsBareUse(events, asset, payment))
    return {
      ...voidStatus('the authorization was used, and the asset names no transfer'),
      usedIn: { hash, blockNumber },
    }
  if (holdsOtherTransfer(events, asset, payment))
    return { ...voidStatus('the authorization was used for another transfer'), usedIn: { hash, blockNumber } }
  if (holdsOtherUse(events, asset, payment)) return voidStatus('the authorization was cancelled')
  throw new ChainUnavailable(
    `The node finds the use of an authorization in ${use.hash}, and not what it moved`,
  )
}
