import { ChainUnavailable, type Refusal } from '@tollgate/chains'
import { traced, type Logger, type Span } from '@tollgate/service'
import { type Caller } from '../clients/store'
import { type HttpMetricsRecorder } from '../metrics/http-metrics-recorder'
import { withNodeSpans } from '../networks/with-node-spans'
import { idsOf } from '../settlement/log-fields'
import { createReadClaimFacts } from './claim-facts'
import { type ClaimWindow } from './claim-window'
import { type PaymentChecks } from './payment-checks'
import { checkAsset, checkRecipient, type PaymentRequest } from './payment-request'
import { decideClaim, decideUnclaimed, isReclaimable, isRepeat } from './settle-decisions'
import { type SettlementWaiter } from './settlement-waiter'
import { type NewClaim, type Requester, type Settlement, type SettlementStore } from './store'
import { type VerificationCache } from './verification-cache'

type ClaimRequest = {
  request: PaymentRequest
  requester: Requester
  caller: Caller
  window: ClaimWindow
  requestId: string
  /** Of the request. */
  span: Span | undefined
}

export type FindOrClaimDependencies = {
  verificationCache: VerificationCache
  checks: PaymentChecks
  store: SettlementStore
  settlementWaiter: SettlementWaiter
  /** Counts refusals that have no settlement; the settlements table counts the others. */
  metricsRecorder: Pick<HttpMetricsRecorder, 'refused'>
  logger: Logger
  now: () => Date
}

export function createFindOrClaim(dependencies: FindOrClaimDependencies) {
  const { verificationCache, checks, store, settlementWaiter, metricsRecorder, logger } = dependencies
  const readClaimFacts = createReadClaimFacts(dependencies)

  /** The settlement of this payment, new or made by an earlier request; or why the payment cannot be claimed. */
  async function findOrClaim(claimRequest: ClaimRequest): Promise<Settlement | Refusal> {
    const { request, requester, caller, requestId, span } = claimRequest
    const [earlier, access] = await Promise.all([store.find(request), checks.checkAccess(request, caller)])
    if (earlier && !(await canReclaim(earlier, requester))) return earlier

    settlementWaiter.assertCapacity(caller)
    const unacceptable = checkRecipient(request, caller) ?? checkAsset(request) ?? access.refusal
    if (unacceptable) return unacceptable
    const sent = earlier?.transactionHash == null ? undefined : earlier
    const wasSent = sent !== undefined
    const { isOwnRecipient } = access
    const known = isOwnRecipient
      ? !sent && (await verificationCache.findUnmade(request))
      : await verificationCache.findSpent(request, { wasSent })
    if (known) return sent ?? known

    const { until, ...facts } = await traced(span, 'verify payment', {}, (step) =>
      readClaimFacts(
        { ...claimRequest, request: { ...request, network: withNodeSpans(request.network, step) } },
        { sent, isOwnRecipient },
      ),
    )
    const { refusal, paidBlock } = facts
    if (refusal?.isSpent && paidBlock === undefined && !isOwnRecipient)
      await checks.rememberSpent(request, refusal, { wasSent })

    const decision = decideClaim(facts)
    if (decision.action === 'answer-earlier') return decision.settlement
    const claimed =
      decision.action === 'claim'
        ? await traced(span, 'claim payment', {}, (step) =>
            claim(
              claimRequest,
              { ...decision.evidence, requestId, traceparent: step?.traceparent, until },
              earlier,
            ),
          )
        : undefined
    return claimed ?? findConcurrent(claimRequest, refusal)
  }

  /**
   * Undefined if another request claimed the payment, if the claim reached Postgres after its window, or if the payment has been
   * forbidden meanwhile.
   */
  async function claim(
    { request, requester, window }: ClaimRequest,
    newClaim: NewClaim,
    earlier: Settlement | undefined,
  ): Promise<Settlement | undefined> {
    window.assertOpen()
    const claimed = await store.claim(request, requester, newClaim)
    if (!claimed) return undefined
    if (earlier) countReplacedFailure(earlier)
    await verificationCache.forget(request)
    logger.info('settlement claimed', {
      ...idsOf(claimed),
      ...logFieldsOf(request),
      client: requester.clientId,
    })
    return claimed
  }

  async function findConcurrent(
    { request, requester, caller }: ClaimRequest,
    refused: Refusal | undefined,
  ): Promise<Settlement | Refusal> {
    const concurrent = await store.find(request)
    const refusal = refused ?? (await checks.checkAccess(request, caller)).refusal
    const decision = decideUnclaimed({
      concurrent,
      refusal,
      isReclaimable: concurrent && refusal ? await canReclaim(concurrent, requester) : false,
    })
    switch (decision.action) {
      case 'answer-concurrent':
        return decision.settlement
      case 'refuse':
        return decision.refusal
      case 'report-too-late':
        throw new ChainUnavailable('The claim reached Postgres after the claim window and was not made')
    }
  }

  const canReclaim = async (settlement: Settlement, requester: Requester) =>
    isReclaimable(settlement, requester, { isRepeat: await repeatsClaim(store, settlement, requester) })

  /** A claim overwrites the failed settlement, so its failure is counted here. */
  function countReplacedFailure({ clientId, network, errorReason, endedAt }: Settlement) {
    if (errorReason && endedAt)
      metricsRecorder.refused({ clientId, network, reason: errorReason, at: endedAt })
  }

  return findOrClaim
}

/** `isRepeat`, for the key relation that is stored now. */
export async function repeatsClaim(
  store: Pick<SettlementStore, 'keyRelation'>,
  settlement: Settlement,
  requester: Requester,
): Promise<boolean> {
  if (!requester.requestHash.equals(settlement.requestHash)) return false
  return isRepeat(settlement, requester, await store.keyRelation(requester.clientId, settlement.clientId))
}

const logFieldsOf = ({ network, payment, terms }: PaymentRequest) => ({
  network: network.name,
  asset: terms.token.asset,
  amount: terms.amount,
  payer: payment.payer,
  payTo: terms.payTo,
})
