import { z } from 'zod'
import { ChainUnavailable } from '../../../errors'
import { Data, hex, type Log } from '../../rpc-schemas'
import { isTransferOf, transferTopics } from '../../tokens/erc20'
import type { EvmNetwork } from '../../network'
import {
  droppedBlock,
  eventsWithin,
  type Place,
  placeOf,
  searchBack,
  timeAt,
} from '../../observation/log-search'
import type { PermittedPayment } from './payment'
import { settlementsBy } from './trace'
import { isSettlementCall, settlementEvents } from './transfer'

const Sent = z
  .object({ to: hex(/^0x[0-9a-f]{40}$/i).nullable(), input: Data })
  .transform(({ to, input }) => ({ to: to ?? '', input }))

/**
 * Whether this transaction, which holds an equal transfer, used the payment's own nonce: it is the proxy call itself, or it
 * made that call internally. Rejects with `ChainUnavailable` if that is unknown, because another payment's transfer must not
 * count.
 */
async function isSettledBy(
  network: EvmNetwork,
  place: Place,
  payment: PermittedPayment,
  asset: string,
): Promise<boolean> {
  const { hash } = place
  const sent = await network.rpc.call(Sent.nullable(), 'eth_getTransactionByHash', [hash])
  if (sent === null) throw new ChainUnavailable(`The node names ${hash} and does not know it`)
  const [moved, events] = await Promise.all([
    eventsWithin(network, place, { address: asset, topics: transferTopics(payment) }),
    eventsWithin(network, place, settlementEvents),
  ])
  if (moved === undefined || events === undefined) throw droppedBlock(hash)
  // A node that lacks the transfer, which was just found, may lack the settlement event too.
  if (!moved.some((log) => isTransferOf(log, payment)))
    throw new ChainUnavailable(`The node finds a transfer in ${hash}, which does not hold it`)
  if (isSettlementCall(sent, payment)) {
    if (events.length > 0) return true
    throw new ChainUnavailable(`The node finds a transfer in ${hash}, and nothing that settled it`)
  }
  if (events.length === 0) return false
  const settled = await settlementsBy(network, { hash, sent, count: events.length })
  return settled.some((call) => isSettlementCall(call, payment))
}

/** Newest first. */
function placesIn(logs: readonly Log[], payment: PermittedPayment): Place[] {
  const places = logs.filter((log) => isTransferOf(log, payment)).flatMap((log) => placeOf(log) ?? [])
  const byHash = new Map(places.map((place) => [place.hash, place]))
  return [...byHash.values()].sort((one, other) => Number(other.blockNumber - one.blockNumber))
}

/** A payer can make any number of equal transfers, and each costs requests. */
const AT_ONCE = 10
const MOST_PLACES = 50

async function search(
  network: EvmNetwork,
  height: bigint,
  payment: PermittedPayment,
  asset: string,
  since: bigint,
): Promise<Place | undefined> {
  const earliest = since > payment.validAfter ? since : payment.validAfter
  const isInTime = async ({ blockNumber }: Place) =>
    earliest === 0n || (await timeAt(network, blockNumber)) >= earliest
  const filter = { address: asset, topics: transferTopics(payment) }
  let failure: PromiseRejectedResult | undefined
  let looked = 0
  for await (const logs of searchBack(network, height, filter, earliest)) {
    const places = placesIn(logs, payment)
    for (let i = 0; i < places.length; i += AT_ONCE) {
      const some = places.slice(i, i + AT_ONCE)
      const areInTime = await Promise.all(some.map(isInTime))
      const possible = some.filter((_, j) => areInTime[j])
      const next = possible.slice(0, MOST_PLACES - looked)
      const answers = await Promise.allSettled(
        next.map((place) => isSettledBy(network, place, payment, asset)),
      )
      const found = answers.findIndex((answer) => answer.status === 'fulfilled' && answer.value)
      if (found >= 0) return next[found]
      failure ??= answers.find((answer) => answer.status === 'rejected')
      looked += next.length
      if (next.length < possible.length)
        throw new ChainUnavailable(
          `More than ${MOST_PLACES} transfers are equal to the payment, and the last of them are not it`,
        )
      if (possible.length < some.length) break
    }
  }
  return failure && Promise.reject(failure.reason as Error)
}

/** `use`: the settlement, if it is in a block up to `searched`. */
type Search = { searched: bigint; use: Place | undefined }
const underWay = new WeakMap<EvmNetwork, Map<string, Promise<Search>>>()

/**
 * The transaction that settled the payment, confirmed or not, as of block `height`, from about `since` (Unix seconds) on. Joins a running
 * search for the same payment, which may have started at another height. Rejects with `ChainUnavailable` if more than 50 equal transfers
 * are in question, and as `searchBack` does.
 */
export function findSettlement(
  network: EvmNetwork,
  height: bigint,
  payment: PermittedPayment,
  asset: string,
  since = 0n,
): Promise<Search> {
  // Searches of one minute are joined.
  const from = since - (since % 60n)
  const searches = underWay.get(network) ?? new Map<string, Promise<Search>>()
  underWay.set(network, searches)
  const { payer, payTo, amount, permitNonce, validAfter } = payment
  const key = [asset.toLowerCase(), payer, payTo, amount, permitNonce, validAfter, from].join(' ')
  const known = searches.get(key)
  if (known !== undefined) return known
  const started = search(network, height, payment, asset, from)
    .then((use) => ({ searched: height, use }))
    .finally(() => searches.delete(key))
  searches.set(key, started)
  return started
}
