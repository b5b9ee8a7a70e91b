import { ChainUnavailable } from '../../../errors'
import { type PaymentStatus, type Terms, type Transfer } from '../../../family'
import { answeredWord } from '../../abi'
import { Data, quantity } from '../../rpc-schemas'
import { unusedPaymentStatus } from '../relayed-payment'
import { confirmedHeight, heightSince, longAgoHeight, voidStatus } from '../../observation/confirmations'
import type { EvmNetwork } from '../../network'
import { droppedBlock, transferAt } from '../../observation/log-search'
import {
  calls,
  holdsBareUse,
  holdsOtherTransfer,
  holdsOtherUse,
  holdsTransfer,
  placeOf,
} from './authorization'
import { eventsOfUse, findUse } from './find-use'
import type { AuthorizedPayment } from './payment'

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

/** Judges a use without an event: a node that knows of a recent use must have its event too. */
async function assertUsedLongAgo(
  network: EvmNetwork,
  payment: AuthorizedPayment,
  terms: Terms,
  height: bigint,
): Promise<void> {
  const longAgo = longAgoHeight(network, height)
  if (longAgo < 0n || !(await isSpentAt(network, payment, terms, longAgo)))
    throw new ChainUnavailable('The node knows of an authorization used lately, and not of its event')
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
  const height = await heightSince(network, minBlock)
  const confirmed = confirmedHeight(network, height)
  if (!(await isSpentAt(network, payment, terms, height)))
    return unusedPaymentStatus(network, payment, confirmed)

  const use = await findUse(network, height, payment, asset)
  if (use === undefined) {
    await assertUsedLongAgo(network, payment, terms, height)
    return voidStatus('the authorization was used or cancelled longer ago than anybody looks back')
  }
  const found = await eventsOfUse(network, use, payment, asset)
  if (found === undefined || use.blockNumber > confirmed) return { status: 'pending' }
  const { events, isWhole } = found
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

/** See `TransferMethod.findTransfer`. */
export async function findTransfer(
  network: EvmNetwork,
  payment: AuthorizedPayment,
  terms: Terms,
  { minBlock, since }: { minBlock: bigint; since: bigint },
): Promise<Transfer | undefined> {
  const { asset } = terms.token
  const height = await heightSince(network, minBlock)
  if (!(await isSpentAt(network, payment, terms, height))) return undefined
  const use = await findUse(network, height, payment, asset, since)
  if (use === undefined) {
    await assertUsedLongAgo(network, payment, terms, height)
    return undefined
  }
  const found = await eventsOfUse(network, use, payment, asset)
  if (found === undefined) throw droppedBlock(use.hash)
  const place = placeOf(found.events, asset, payment)
  return place === undefined ? undefined : transferAt(network, use, place)
}
