import { ChainUnavailable, type Payment, type Refusal } from '@tollgate/chains'
import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Caller } from '../clients/store'
import { type Tally } from '../metrics/tally'
import { type Networks } from '../networks/networks'
import { failure, invalid, mismatched, pending, success, valid } from './answers'
import { openClaimWindow, type ClaimWindow, type Waiter } from './claim-window'
import { type Asked, type WrongVersion } from './dialect'
import { highestPlausible, isFarBehind, mayHaveBeenThere } from './ending'
import { type FeeBudget } from './fee-budget'
import { idsOf } from './log-fields'
import { checkAsset, checkRecipient, isRefusal, readOrder, type Order } from './order'
import { type Outcomes } from './outcomes'
import { isMismatched, isOver } from './state'
import { type Asker, type Settlement, type SettlementStore } from './store'
import { type Verdicts } from './verdicts'

export type Facilitator = ReturnType<typeof createFacilitator>

/** Verifies and settles payments. Both reject with `ChainUnavailable` where the network gives no answer; nothing is done then. */
export function createFacilitator(parts: {
  networks: Networks
  verdicts: Verdicts
  store: SettlementStore
  outcomes: Outcomes
  feeBudget: FeeBudget
  /** How long a request waits at most for its outcome. */
  settleWaitSeconds: number
  /** What is refused without a settlement of its own is counted there; settlements are counted where they stand. */
  tally: Pick<Tally, 'refused'>
  logger: Logger
  now: () => Date
}) {
  const { networks, verdicts, store, outcomes, feeBudget, settleWaitSeconds, tally, logger, now } = parts

  /** Whether the payment would settle now. Takes nothing, claims nothing. */
  async function verify(asked: Asked | WrongVersion, caller: Caller): Promise<VerifyResult> {
    const order = await readOrder(asked, networks)
    if (isRefusal(order)) return invalid(order, now())
    const unfit = checkRecipient(order, caller) ?? checkAsset(order)
    if (unfit) return invalid(unfit, now())
    const { requestHash } = order
    const { payer } = order.payment
    const isKnown = await verdicts.isKnown(order, requestHash)
    const refusal = (isKnown ? undefined : await refusalOf(order)) ?? (await checkFees(order, caller))
    if (refusal) return invalid(refusal, now())
    if (isKnown) return valid(payer, { cached: true, at: now() })
    await verdicts.remember(order, requestHash)
    return valid(payer, { cached: false, at: now() })
  }

  /**
   * Settles the payment, once, whoever asks and however often. Success is reported once, to the client that claimed it: to
   * the first of its identical requests, and to repeats under that one's Idempotency-Key. A request whose outcome is not known
   * within `maxTimeoutSeconds` may be sent again to learn it.
   */
  async function settle(
    asked: Asked | WrongVersion,
    caller: Caller,
    { idempotencyKey, requestId, ...waiter }: { idempotencyKey: string | null; requestId: string } & Waiter,
  ): Promise<SettleResult> {
    const { clientId } = caller
    const askedAt = now().getTime()
    const window = openClaimWindow(waiter, now)
    const order = await readOrder(asked, networks)
    if (isRefusal(order)) return refuse(clientId, order, networks.find(asked.network)?.name ?? '')
    const patienceSeconds = Math.min(order.maxTimeoutSeconds, settleWaitSeconds)
    const asker: Asker = { clientId, idempotencyKey, requestHash: order.requestHash }
    const settlement = await claimed(order, asker, { caller, window, requestId })
    if (isRefusal(settlement)) return refuse(clientId, settlement, order.network.name)
    if (!(await isSameRequest(settlement, asker))) return refuse(clientId, DUPLICATE, settlement.network)

    const over = await outcomes.wait(settlement.id, askedAt + patienceSeconds * 1000 - now().getTime())
    return over ? tell(over, asker, order) : tellPending(settlement, { ...asker, requestId }, order)
  }

  function refuse(clientId: string, refusal: Refusal, network: string): SettleResult {
    tally.refused({ clientId, network, reason: refusal.reason })
    return failure(refusal, network, now())
  }

  /** The settlement of this payment, whoever claimed it first; or why nobody may. */
  async function claimed(
    order: Order,
    asker: Asker,
    { caller, window, requestId }: { caller: Caller; window: ClaimWindow; requestId: string },
  ): Promise<Settlement | Refusal> {
    const earlier = await store.find(order)
    if (earlier && !(await mayBeTakenOver(earlier, asker))) return earlier

    outcomes.refuseCrowd()
    const unfit = checkRecipient(order, caller) ?? checkAsset(order)
    if (unfit) return unfit
    // What was sent for an earlier claim may have been paid since, which only `paidSince` finds out.
    const isSent = earlier !== undefined && wasSent(earlier)
    const spent = await verdicts.spent(order, { isSent })
    if (spent) return isSent ? earlier : spent
    const { chain } = order.network
    const newest = chain.head()
    const [head, heights, unsettleable, until, isUnspent] = await Promise.all([
      newest,
      chain.heights(),
      judge(order),
      store.clock().then((time) => window.endsAt(time)),
      newest.then(({ number }) => isUnspentAt(order, number)),
    ])
    const { number: seen } = head
    if (isFarBehind(head, heights, now()))
      throw new ChainUnavailable(`The node is at block ${seen}, far behind another one`)
    const refusal = unsettleable ?? (await checkFees(order, caller))
    const before = isSent ? await claimedBefore(earlier, order) : undefined
    const paidBy = refusal?.isSpent && before ? await paidSince(before, order, seen) : undefined
    const isPaid = paidBy !== undefined
    if (refusal?.isSpent && !isPaid) await noteSpent(order, refusal, { isSent })
    // Of transactions that payers sign whole a chain takes one under a nonce: where this one is good, none was taken.
    const isUntaken = !refusal && order.payment.transaction !== undefined
    if (isSent && !isPaid && !isUntaken) return earlier
    if (!refusal || isPaid) {
      window.assertOpen()
      const own = await store.claim(order, asker, {
        // A node may show a block a moment before its state; that it is paid was told by the state itself.
        since: paidBy ?? seen - 1n,
        judgedBlock: isUnspent ? seen : null,
        seenBlock: highestPlausible(seen, heights),
        isSame: before !== undefined,
        isPaid,
        isUntaken,
        requestId,
        until,
      })
      if (own) {
        if (earlier) countOver(earlier)
        await verdicts.forget(order)
        logger.info('settlement claimed', {
          ...idsOf({ ...own, paymentId: own.idempotencyKey }),
          ...factsOf(order),
          client: asker.clientId,
        })
        return own
      }
    }
    // Somebody may have claimed it since; what was settled meanwhile is refused by its chain for that very reason.
    const other = await store.find(order)
    if (other && !(refusal && (await mayBeTakenOver(other, asker)))) return other
    if (!refusal) throw new ChainUnavailable('The claim reached Postgres too late and was not made')
    return refusal
  }

  /** The earlier claim of this very payment; undefined where its payer has signed another under the same nonce since. */
  async function claimedBefore({ id }: Settlement, { network, payment }: Order) {
    const before = await store.claimedAs(id)
    const earlier = before && network.family.readPayment(before.payload)
    return earlier && isSamePayment(earlier, payment) ? before : undefined
  }

  /**
   * A payment that was sent for an earlier claim is known, and anybody may have settled it since: then it paid all the same. What
   * was mined by the time of that claim paid for something else. Answers a block by which it was paid.
   */
  async function paidSince(
    claim: { judgedBlock: bigint | null; seenBlock: bigint },
    { network, payment, terms }: Order,
    seen: bigint,
  ): Promise<bigint | undefined> {
    const fate = await network.chain.fate(payment, terms, seen)
    if (fate.status === 'pending') return seen
    if (fate.status !== 'settled' || mayHaveBeenThere(claim, fate.blockNumber)) return undefined
    return fate.blockNumber > seen ? fate.blockNumber : seen
  }

  /**
   * Whether the payment's nonce was free as of this very block. The newest block and the verdict on the payment may come from nodes,
   * or states of one, that are not equally far.
   */
  const isUnspentAt = ({ network, payment, terms }: Order, block: bigint): Promise<boolean> =>
    network.chain.isSpentAt(payment, terms, block).then(
      (isSpent) => !isSpent,
      (error: unknown) => {
        if (!(error instanceof ChainUnavailable)) throw error
        return false
      },
    )

  const judge = ({ network, payment, terms }: Order) => network.chain.verify(payment, terms, now())

  /** Refuses a payment that we would pay the fee of, once its client has used up its share. */
  async function checkFees({ network, payment }: Order, caller: Caller): Promise<Refusal | undefined> {
    const refusal = await feeBudget.check(network, caller)
    if (!refusal || !payment.transaction) return refusal
    const sponsorship = await network.chain.sponsorship?.(payment)
    return sponsorship && sponsorship.fee > 0n && !sponsorship.isReady ? refusal : undefined
  }

  /** What is known of the payment's nonce spares the chain a question; what the chain says of it is kept. */
  async function refusalOf(order: Order): Promise<Refusal | undefined> {
    const known = await verdicts.spent(order, { isSent: false })
    if (known) return known
    const refusal = await judge(order)
    if (refusal?.isSpent) await noteSpent(order, refusal, { isSent: false })
    return refusal
  }

  /** So that its chain is not asked again: a spent nonce is spent for good once no reorg can give it back. */
  async function noteSpent(order: Order, refusal: Refusal, { isSent }: { isSent: boolean }): Promise<void> {
    const { network, payment, terms } = order
    const isForGood = await network.chain.isSpentForGood(payment, terms).catch((error: unknown) => {
      if (!(error instanceof ChainUnavailable)) throw error
      return false
    })
    await verdicts.rememberSpent(order, refusal, { isForGood, isSent })
  }

  async function tell(over: Settlement, asker: Asker, order: Order): Promise<SettleResult> {
    // Again: what was forgotten when it was claimed may have been lost since, and the payment verified.
    await verdicts.forget(order)
    const { clientId } = asker
    if (!(await isSameRequest(over, asker))) return refuse(clientId, DUPLICATE, over.network)
    if (isMismatched(over)) return mismatched(over, now())
    if (over.status !== 'settled') return failure(failureOf(over), over.network, now())
    if (await store.handOut(over.id, asker)) return success(over, now())
    return refuse(clientId, DUPLICATE, over.network)
  }

  /** The failure of a settlement that was claimed anew: nothing else tells of it any more. */
  function countOver({ clientId, network, errorReason, endedAt }: Settlement) {
    if (errorReason && endedAt) tally.refused({ clientId, network, reason: errorReason, at: endedAt })
  }

  async function tellPending(
    claim: Settlement,
    { requestId, ...asker }: Asker & { requestId: string },
    order: Order,
  ): Promise<SettleResult> {
    const settlement = (await store.byId(claim.id)) ?? claim
    if (isOver(settlement)) return tell(settlement, asker, order)
    const { id, network, transactionHash } = settlement
    logger.warn('settlement pending', {
      ...idsOf({ id, paymentId: asker.idempotencyKey, requestId }),
      network,
      transaction: transactionHash,
      client: asker.clientId,
    })
    return pending(settlement, now())
  }

  /**
   * By the client that claimed it, or another key of its user that takes its place: of one that is not valid any more, or
   * under the same Idempotency-Key while nobody was told. A key that is changed loses nothing.
   */
  async function isSameRequest(settlement: Settlement, asker: Asker): Promise<boolean> {
    if (!asker.requestHash.equals(settlement.requestHash)) return false
    if (settlement.clientId === asker.clientId) return true
    const succession = await store.succession(asker.clientId, settlement.clientId)
    if (succession !== 'beside') return succession === 'after'
    return (
      settlement.handedOutAt === null &&
      asker.idempotencyKey !== null &&
      asker.idempotencyKey === settlement.idempotencyKey
    )
  }

  /** A claim that came to nothing may be made anew; to repeat a request under its key is to ask what came of it. */
  const mayBeTakenOver = async (settlement: Settlement, asker: Asker) =>
    settlement.status === 'failed' &&
    !isMismatched(settlement) &&
    !(
      asker.idempotencyKey !== null &&
      asker.idempotencyKey === settlement.idempotencyKey &&
      (await isSameRequest(settlement, asker))
    )

  return { verify, settle }
}

/** The reason says all that there is to say. */
const DUPLICATE: Refusal = { reason: 'duplicate_settlement', detail: '' }

const failureOf = ({ errorReason, errorDetail }: Settlement) => ({
  reason: errorReason ?? ('unexpected_settle_error' as const),
  detail: errorDetail,
})

/** But for the signature, of which there may be many of one payment. */
const isSamePayment = (one: Payment, other: Payment): boolean =>
  one.payTo === other.payTo &&
  one.amount === other.amount &&
  one.validUntil === other.validUntil &&
  one.transaction?.hash === other.transaction?.hash

const wasSent = ({ transactionHash }: Settlement) => transactionHash !== null

const factsOf = ({ network, payment, terms }: Order) => ({
  network: network.name,
  asset: terms.token.asset,
  amount: terms.amount,
  payer: payment.payer,
  payTo: terms.payTo,
})
