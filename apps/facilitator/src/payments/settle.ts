import { ChainUnavailable, type Refusal } from '@tollgate/chains'
import { type SettleResult } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Caller } from '../clients/store'
import { type HttpMetricsRecorder } from '../metrics/http-metrics-recorder'
import { type Networks } from '../networks/networks'
import { highestPlausible, isFarBehind, mayHaveBeenThere } from '../settlement/claims/claim-outcome'
import { idsOf } from '../settlement/log-fields'
import { isOver } from '../settlement/status'
import { openClaimWindow, type ClaimWindow, type Waiter } from './claim-window'
import { falseIfUnavailable, type PaymentChecks } from './payment-checks'
import { checkAsset, checkRecipient, parsePaymentRequest, type PaymentRequest } from './payment-request'
import { isRefusal } from '../settlement/refusal'
import { failure, mismatched, pending, success } from './responses'
import { decideAnswer, decideClaim, isReclaimable, isRepeat, isSamePayment } from './settle-decisions'
import { type SettlementWaiter } from './settlement-waiter'
import { type EarlierClaim, type Requester, type Settlement, type SettlementStore } from './store'
import { type VerificationCache } from './verification-cache'
import { type SettlementRequest, type WrongVersion } from './versions/version'

export type Settle = ReturnType<typeof createSettle>

/** `claiming` holds what only a new claim needs. */
type Attempt = {
  request: PaymentRequest
  requester: Requester
  claiming: { caller: Caller; window: ClaimWindow; requestId: string }
}

export function createSettle({
  networks,
  verificationCache,
  checks,
  store,
  settlementWaiter,
  settleTimeoutSeconds,
  metricsRecorder,
  logger,
  now,
}: {
  networks: Networks
  verificationCache: VerificationCache
  checks: PaymentChecks
  store: SettlementStore
  settlementWaiter: SettlementWaiter
  settleTimeoutSeconds: number
  /** Counts refusals that have no settlement; the settlements table counts the others. */
  metricsRecorder: Pick<HttpMetricsRecorder, 'refused'>
  logger: Logger
  now: () => Date
}) {
  /**
   * Settles the payment once, however many requests ask for it. Success is reported once, to the client that claimed the
   * payment, and to repeats under the same Idempotency-Key. A request that times out can be sent again to learn its outcome.
   * Rejects with `ChainUnavailable` if the network does not answer; nothing is claimed then.
   */
  async function settle(
    settlementRequest: SettlementRequest | WrongVersion,
    caller: Caller,
    { idempotencyKey, requestId, ...waiter }: { idempotencyKey: string | null; requestId: string } & Waiter,
  ): Promise<SettleResult> {
    const { clientId } = caller
    const startedAt = now().getTime()
    const window = openClaimWindow(waiter, now)
    const request = await parsePaymentRequest(settlementRequest, networks)
    if (isRefusal(request)) {
      const network = networks.find(settlementRequest.network)?.name ?? ''
      return refuse(clientId, request, network)
    }
    const requester: Requester = { clientId, idempotencyKey, requestHash: request.requestHash }
    const claiming = { caller, window, requestId }
    const settlement = await findOrClaim({ request, requester, claiming })
    if (isRefusal(settlement)) return refuse(clientId, settlement, request.network.name)
    if (!(await repeats(settlement, requester))) return refuse(clientId, DUPLICATE, settlement.network)

    const timeoutSeconds = Math.min(request.maxTimeoutSeconds, settleTimeoutSeconds)
    const deadline = startedAt + timeoutSeconds * 1000
    const completed = await settlementWaiter.wait(settlement.id, deadline - now().getTime())
    return completed
      ? report(completed, requester, request)
      : reportPending(settlement, { ...requester, requestId }, request)
  }

  function refuse(clientId: string, refusal: Refusal, network: string): SettleResult {
    metricsRecorder.refused({ clientId, network, reason: refusal.reason })
    return failure(refusal, network, now())
  }

  /** The settlement of this payment, new or made by an earlier request; or why the payment cannot be claimed. */
  async function findOrClaim(attempt: Attempt): Promise<Settlement | Refusal> {
    const { request, requester, claiming } = attempt
    const earlier = await store.find(request)
    if (earlier && !(await canReclaim(earlier, requester))) return earlier

    settlementWaiter.assertCapacity()
    const unacceptable = checkRecipient(request, claiming.caller) ?? checkAsset(request)
    if (unacceptable) return unacceptable
    const sent = earlier?.transactionHash == null ? undefined : earlier
    const wasSent = sent !== undefined
    const spent = await verificationCache.findSpent(request, { wasSent })
    if (spent) return sent ?? spent

    const chainState = await readChainState(request, claiming.window)
    const refusal = chainState.refusal ?? (await checks.checkFees(request, claiming.caller))
    const earlierClaim = sent && (await findEarlierClaim(sent, request))
    const paidBy =
      refusal?.isSpent && earlierClaim
        ? await findPaidBlock(earlierClaim, request, chainState.seen)
        : undefined
    const isPaid = paidBy !== undefined
    if (refusal?.isSpent && !isPaid) await checks.rememberSpent(request, refusal, { wasSent })

    const decision = decideClaim({
      refusal,
      wasSent,
      isPaid,
      isPayerTransaction: request.payment.transaction !== undefined,
    })
    if (decision.action === 'answer-earlier' && sent) return sent
    if (decision.action === 'claim') {
      claiming.window.assertOpen()
      const claimed = await store.claim(request, requester, {
        basis: decision.basis,
        // A node may announce a block before it serves its state. `paidBy` was read from the state itself.
        minBlock: paidBy ?? chainState.seen - 1n,
        judgedBlock: chainState.isUnspent ? chainState.seen : null,
        seenBlock: chainState.seenByAnyNode,
        isSamePayment: earlierClaim !== undefined,
        requestId: claiming.requestId,
        until: chainState.until,
      })
      if (claimed) {
        if (earlier) countReplacedFailure(earlier)
        await verificationCache.forget(request)
        logger.info('settlement claimed', {
          ...idsOf({ ...claimed, paymentId: claimed.idempotencyKey }),
          ...logFieldsOf(request),
          client: requester.clientId,
        })
        return claimed
      }
    }
    return findConcurrentClaim(attempt, refusal)
  }

  /** Reads everything that a claim depends on, at about one time. */
  async function readChainState(request: PaymentRequest, window: ClaimWindow) {
    const { chain } = request.network
    const newest = chain.head()
    const [head, heights, refusal, until, isUnspent] = await Promise.all([
      newest,
      chain.heights(),
      checks.verifyOnChain(request),
      store.clock().then((time) => window.endsAt(time)),
      newest.then(({ number }) => isUnspentAt(request, number)),
    ])
    const { number: seen } = head
    if (isFarBehind(head, heights, now()))
      throw new ChainUnavailable(`The node is at block ${seen}, far behind another one`)
    return { seen, seenByAnyNode: highestPlausible(seen, heights), refusal, until, isUnspent }
  }

  /** A concurrent request may have claimed the payment, and its settlement may be why the chain refuses ours. */
  async function findConcurrentClaim(
    { request, requester }: Attempt,
    refusal: Refusal | undefined,
  ): Promise<Settlement | Refusal> {
    const concurrent = await store.find(request)
    if (concurrent && !(refusal && (await canReclaim(concurrent, requester)))) return concurrent
    if (!refusal) throw new ChainUnavailable('The claim reached Postgres too late and was not made')
    return refusal
  }

  /** Undefined if the payer has since signed another payment under the same nonce. */
  async function findEarlierClaim(
    { id }: Settlement,
    { network, payment }: PaymentRequest,
  ): Promise<EarlierClaim | undefined> {
    const claim = await store.findEarlierClaim(id)
    const claimed = claim && network.family.readPayment(claim.payload)
    return claimed && isSamePayment(claimed, payment) ? claim : undefined
  }

  /**
   * A block by which a payment that we broadcast before was paid, by any sender. A transfer that may predate the earlier claim
   * paid for something else.
   */
  async function findPaidBlock(
    earlierClaim: EarlierClaim,
    { network, payment, terms }: PaymentRequest,
    seen: bigint,
  ): Promise<bigint | undefined> {
    const found = await network.chain.paymentStatus(payment, terms, seen)
    if (found.status === 'pending') return seen
    if (found.status !== 'settled' || mayHaveBeenThere(earlierClaim, found.blockNumber)) return undefined
    return found.blockNumber > seen ? found.blockNumber : seen
  }

  /** Reads the nonce at this very block: the newest block and the verification may come from different nodes. */
  const isUnspentAt = ({ network, payment, terms }: PaymentRequest, block: bigint): Promise<boolean> =>
    falseIfUnavailable(network.chain.isSpentAt(payment, terms, block).then((isSpent) => !isSpent))

  async function report(
    settlement: Settlement,
    requester: Requester,
    request: PaymentRequest,
  ): Promise<SettleResult> {
    // The cache may have lost the mark of the claim and verified the payment again.
    await verificationCache.forget(request)
    const { id, network } = settlement
    switch (decideAnswer(settlement, { isRepeat: await repeats(settlement, requester) })) {
      case 'duplicate':
        return refuse(requester.clientId, DUPLICATE, network)
      case 'mismatch':
        return mismatched(settlement, now())
      case 'failure':
        return failure(failureOf(settlement), network, now())
      case 'report-success':
        return (await store.reportSuccess(id, requester))
          ? success(settlement, now())
          : refuse(requester.clientId, DUPLICATE, network)
    }
  }

  async function reportPending(
    claim: Settlement,
    { requestId, ...requester }: Requester & { requestId: string },
    request: PaymentRequest,
  ): Promise<SettleResult> {
    const settlement = (await store.findById(claim.id)) ?? claim
    if (isOver(settlement)) return report(settlement, requester, request)
    const { id, network, transactionHash } = settlement
    logger.warn('settlement pending', {
      ...idsOf({ id, paymentId: requester.idempotencyKey, requestId }),
      network,
      transaction: transactionHash,
      client: requester.clientId,
    })
    return pending(settlement, now())
  }

  /** A claim overwrites the failed settlement, so its failure is counted here. */
  function countReplacedFailure({ clientId, network, errorReason, endedAt }: Settlement) {
    if (errorReason && endedAt)
      metricsRecorder.refused({ clientId, network, reason: errorReason, at: endedAt })
  }

  async function repeats(settlement: Settlement, requester: Requester): Promise<boolean> {
    if (!requester.requestHash.equals(settlement.requestHash)) return false
    const keyRelation = await store.keyRelation(requester.clientId, settlement.clientId)
    return isRepeat(settlement, requester, keyRelation)
  }

  const canReclaim = async (settlement: Settlement, requester: Requester) =>
    isReclaimable(settlement, requester, { isRepeat: await repeats(settlement, requester) })

  return settle
}

const DUPLICATE: Refusal = { reason: 'duplicate_settlement', detail: '' }

const failureOf = ({ errorReason, errorDetail }: Settlement) => ({
  reason: errorReason ?? ('unexpected_settle_error' as const),
  detail: errorDetail,
})

const logFieldsOf = ({ network, payment, terms }: PaymentRequest) => ({
  network: network.name,
  asset: terms.token.asset,
  amount: terms.amount,
  payer: payment.payer,
  payTo: terms.payTo,
})
