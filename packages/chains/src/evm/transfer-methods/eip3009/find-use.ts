import { ChainUnavailable } from '../../../errors'
import { type Log, Receipt } from '../../rpc-schemas'
import type { EvmNetwork } from '../../network'
import { eventsWithin, type Place, placeOf, searchBack } from '../../observation/log-search'
import { holdsOtherUse, holdsTransfer, holdsUse, payerTopics, spentTopics } from './authorization'
import type { AuthorizedPayment } from './payment'

/** The newest transaction that used or cancelled the authorization; see `searchBack` for `since`. */
export async function findUse(
  network: EvmNetwork,
  height: bigint,
  payment: AuthorizedPayment,
  asset: string,
  since = 0n,
): Promise<Place | undefined> {
  const filter = { address: asset, topics: spentTopics(payment) }
  for await (const logs of searchBack(network, height, filter, since)) {
    const [place] = logs.flatMap((log) => placeOf(log) ?? [])
    if (place !== undefined) return place
  }
  return undefined
}

type EventsOfUse = { events: Log[]; isWhole: boolean }

/**
 * The token's events about the payer in the transaction that used the authorization, from the receipt and from the block.
 * A third party can make one of them too long to read, but hardly both. If both are read, they must agree. `isWhole`: both
 * were read. Undefined if a reorg replaced the block.
 */
export async function eventsOfUse(
  network: EvmNetwork,
  use: Place,
  payment: AuthorizedPayment,
  asset: string,
): Promise<EventsOfUse | undefined> {
  const { rpc } = network
  const [ofBlock, receipt] = await Promise.allSettled([
    eventsWithin(network, use, { address: asset, topics: payerTopics(payment) }),
    rpc.call(Receipt.nullable(), 'eth_getTransactionReceipt', [use.hash]),
  ])
  if (receipt.status === 'rejected') {
    if (ofBlock.status === 'rejected') throw ofBlock.reason
    return ofBlock.value && assertUse({ events: ofBlock.value, isWhole: false }, use, payment, asset)
  }
  if (ofBlock.status === 'rejected' && (await rpc.blockAt(use.blockNumber))?.hash !== use.blockHash)
    return undefined
  const events = ofBlock.status === 'rejected' ? receipt.value?.logs : ofBlock.value
  if (events === undefined) return undefined
  if (!isReceiptOf(receipt.value, use) || !agree(events, receipt.value.logs, asset, payment))
    throw new ChainUnavailable(`The node tells of ${use.hash} in a block what its receipt does not`)
  return assertUse({ events, isWhole: ofBlock.status === 'fulfilled' }, use, payment, asset)
}

const isReceiptOf = (receipt: Receipt | null, { hash, blockHash }: Place): receipt is Receipt =>
  receipt?.status === 1n && receipt.transactionHash === hash && receipt.blockHash === blockHash

const agree = (some: readonly Log[], others: readonly Log[], asset: string, payment: AuthorizedPayment) =>
  [holdsUse, holdsTransfer, holdsOtherUse].every(
    (holds) => holds(some, asset, payment) === holds(others, asset, payment),
  )

function assertUse(
  found: EventsOfUse,
  { hash }: Place,
  payment: AuthorizedPayment,
  asset: string,
): EventsOfUse {
  if (holdsUse(found.events, asset, payment)) return found
  throw new ChainUnavailable(`The node finds the use of an authorization in ${hash}, which does not hold it`)
}
