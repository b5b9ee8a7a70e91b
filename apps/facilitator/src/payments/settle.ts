import { type Refusal } from '@tollgate/chains'
import { type SettleResult } from '@tollgate/protocol'
import { traced, type Span } from '@tollgate/service'
import { type Caller } from '../clients/store'
import { type Networks } from '../networks/networks'
import { idsOf } from '../settlement/log-fields'
import { isOver } from '../settlement/status'
import { openClaimWindow, type ClientConnection } from './claim-window'
import { createFindOrClaim, repeatsClaim, type FindOrClaimDependencies } from './find-or-claim'
import { parsePaymentRequest, type PaymentRequest } from './payment-request'
import { isRefusal } from '../settlement/refusal'
import { failure, mismatched, pending, success } from './responses'
import { decideAnswer } from './settle-decisions'
import { type Requester, type Settlement } from './store'
import { type SettlementRequest, type WrongVersion } from './versions/version'

export type Settle = ReturnType<typeof createSettle>

type SettleDependencies = FindOrClaimDependencies & { networks: Networks; settleTimeoutSeconds: number }

export function createSettle(dependencies: SettleDependencies) {
  const { networks, verificationCache, store, settlementWaiter, settleTimeoutSeconds } = dependencies
  const { metricsRecorder, logger, now } = dependencies
  const findOrClaim = createFindOrClaim(dependencies)

  /**
   * Settles the payment once, however many requests ask for it. Success is reported once, to the client that claimed the
   * payment, and to repeats under the same Idempotency-Key. A request that times out can be sent again to learn its outcome.
   * Rejects with `ChainUnavailable` if the network does not answer; nothing is claimed then.
   */
  async function settle(
    settlementRequest: SettlementRequest | WrongVersion,
    caller: Caller,
    {
      idempotencyKey,
      requestId,
      span,
      ...connection
    }: { idempotencyKey: string | null; requestId: string; span: Span | undefined } & ClientConnection,
  ): Promise<SettleResult> {
    const { clientId } = caller
    const startedAt = now().getTime()
    const window = openClaimWindow(connection, now)
    const request = await parsePaymentRequest(settlementRequest, networks)
    if (isRefusal(request)) {
      const network = networks.find(settlementRequest.network)?.name ?? ''
      return refuse(clientId, request, network)
    }
    const requester: Requester = { clientId, idempotencyKey, requestHash: request.requestHash }
    const settlement = await findOrClaim({ request, requester, caller, window, requestId, span })
    if (isRefusal(settlement)) return refuse(clientId, settlement, request.network.name)
    if (!(await repeatsClaim(store, settlement, requester)))
      return refuse(clientId, DUPLICATE, settlement.network)

    const timeoutSeconds = Math.min(request.maxTimeoutSeconds, settleTimeoutSeconds)
    const deadline = startedAt + timeoutSeconds * 1000
    span?.set({ 'tollgate.settlement_id': String(settlement.id), 'tollgate.network': settlement.network })
    const completed = await traced(span, 'wait for settlement', {}, () =>
      settlementWaiter.wait(settlement.id, deadline - now().getTime(), caller),
    )
    return completed
      ? report(completed, requester, request)
      : reportPending(settlement, { ...requester, requestId }, request)
  }

  function refuse(clientId: string, refusal: Refusal, network: string): SettleResult {
    metricsRecorder.refused({ clientId, network, reason: refusal.reason })
    return failure(refusal, network, now())
  }

  async function report(
    settlement: Settlement,
    requester: Requester,
    request: PaymentRequest,
  ): Promise<SettleResult> {
    // The cache may have lost the mark of the claim, so `/verify` may have cached the payment again.
    await verificationCache.forget(request)
    const { id, network } = settlement
    switch (decideAnswer(settlement, { isRepeat: await repeatsClaim(store, settlement, requester) })) {
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
    const { id, network, transactionHash, traceparent } = settlement
    logger.warn('settlement pending', {
      ...idsOf({ ...requester, id, requestId, traceparent }),
      network,
      transaction: transactionHash,
      client: requester.clientId,
    })
    return pending(settlement, now())
  }

  return settle
}

const DUPLICATE: Refusal = { reason: 'duplicate_settlement', detail: '' }

const failureOf = ({ errorReason, errorDetail }: Settlement) => ({
  reason: errorReason ?? ('unexpected_settle_error' as const),
  detail: errorDetail,
})
