import { ChainUnavailable } from '../../../errors'
import { type PaymentStatus, type Terms } from '../../../family'
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

/** The newest transaction that used or cancelled the authorization. */
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
 * The token's events about the payer in the transaction that used the authorization, from the receipt and from the block.
 * A third party can make one of them too long to read, but hardly both. If both are read, they must agree. `isWhole`: both
 * were read. Undefined if a reorg replaced the block.
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

/** Queries the block by number, because a node that lacks it then refuses. */
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
 * See `ChainPayments.paymentStatus`. An authorization that was used more than 50,000 blocks ago counts as void. Rejects with
 * `ChainUnavailable` if the node may lack block `minBlock`, or the event of a recently used authorization.
 */
export async function paymentStatus(
  network: EvmNetwork,
  payment: AuthorizedPayment,
  terms: Terms,
  minBlock: bigint,
): Promise<PaymentStatus> {
  const { asset } = terms.token
  const isUsedAt = (block: bigint) => isSpentAt(network, payment, terms, block)
  const height = await heightSince(network, minBlock)
  const confirmed = confirmedHeight(network, height)
  if (!(await isUsedAt(height))) return unusedPaymentStatus(network, payment, confirmed)

  const use = await findUse(network, height, payment, asset)
  if (use === undefined) {
    const longAgo = longAgoHeight(network, height)
    if (longAgo >= 0n && (await isUsedAt(longAgo)))
      return voidStatus('the authorization was used or cancelled longer ago than anybody looks back')
    throw new ChainUnavailable('The node knows of an authorization used lately, and not of its event')
  }
  const found = await eventsOfUse(network, use, payment, asset)
  if (found === undefined || use.blockNumber > confirmed) return { status: 'pending' }
  const { events, isWhole } = found
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
