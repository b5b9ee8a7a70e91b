import { ChainUnavailable, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type Claim } from '../claims/claim'
import {
  WAITS_FOR_ITS_PAYER,
  type ClaimValidator,
  type DeferredClaim,
  type ValidClaim,
} from '../claims/validate-claim'
import { type SettlementMetrics } from '../metrics'
import { inStep, type SettlementSteps } from '../settlement-steps'
import { type Budget } from './fee-budget'
import { createBatchPreparer, type NumberedBatch } from './prepare-batches'
import { createSignerFailureReporter } from './signer-failures'
import {
  decideUnsigned,
  deferAll,
  payersNeedingGrant,
  planRound,
  planStoring,
  type AcceptedBatch,
  type Batch,
  type BatchToStore,
  type Stop,
} from './signing-decisions'
import { type SigningStore } from './signing-store'

/** `isFeeGrant`: settles nothing, but must come before its payers' own transactions. */
export type SignedBatch = { claims: readonly Claim[]; transaction: SignedTransaction; isFeeGrant: boolean }
export type SignedRound = { signed: SignedBatch[]; deferred: DeferredClaim[] }

/** Batches valid claims, prepares and signs the batches and stores them, within the budget and the database transaction of the round. */
export function createBatchSigner({
  network,
  signer,
  signing,
  resolveRefusal,
  retryIndividually,
  metrics,
  steps,
  logger,
}: {
  network: Network
  signer: string
  signing: SigningStore
  resolveRefusal: ClaimValidator['resolveRefusal']
  retryIndividually: (claim: Claim) => void
  metrics: SettlementMetrics
  steps: SettlementSteps
  logger: Logger
}) {
  const { chain, name } = network
  const reportFailure = createSignerFailureReporter({ network: name, signer, metrics, logger })
  const { prepareBatches } = createBatchPreparer({ network, signer, steps })

  /** `room`: how many more transactions of the signer may be pending. */
  async function signAll(
    session: PoolClient,
    valid: readonly ValidClaim[],
    { room, budget }: { room: number; budget: Budget },
  ): Promise<SignedRound> {
    const payers = room > 0 ? payersNeedingGrant(valid) : []
    const busyPayers =
      payers.length === 0 ? new Set<string>() : await signing.payersBehindFirst(session, name, payers)
    const grantsWait = payers.length > 0 && (await signing.hasPendingSettlement(session, name, signer))
    const plan = planRound(valid, { room, busyPayers, findUsedUp: budget.findUsedUp, grantsWait })
    const round: SignedRound = { signed: [], deferred: plan.deferred }
    for (const one of plan.payerSigned) round.signed.push(...(await storePayerTransaction(session, one)))
    if (plan.ours.length === 0) return round
    try {
      const batches = await chain.payments.batches(plan.ours)
      const batched = new Set(batches.flat())
      const behind = plan.ours.filter((one) => !batched.has(one))
      await signBatches(session, batches.slice(0, room), { round, budget })
      round.deferred.push(...deferAll(behind, WAITS_FOR_ITS_PAYER))
    } catch (problem) {
      // Only the queries before the batches are prepared throw it.
      if (!(problem instanceof ChainUnavailable)) throw problem
      round.deferred.push(...deferAll(plan.ours, problem))
    }
    return round
  }

  /** Needs no signature of ours; if we bear its fee, the fee grant counted it. */
  async function storePayerTransaction(
    session: PoolClient,
    { claim, payment: { transaction }, sponsorship }: ValidClaim,
  ): Promise<SignedBatch[]> {
    if (!transaction) return []
    const cost = sponsorship?.fee ?? 0n
    const claims = [claim]
    await store(session, { claims, network: name, signer, nonce: null, transaction, cost })
    return [{ claims, transaction, isFeeGrant: false }]
  }

  async function signBatches(
    session: PoolClient,
    batches: readonly Batch[],
    { round, budget }: { round: SignedRound; budget: Budget },
  ): Promise<void> {
    const [funds, from] = await Promise.all([chain.signer.funds(signer), chain.signer.nextNonce(signer)])
    const nonces = await signing.freeNonces(session, name, signer, { from, count: batches.length })
    const prepared = await prepareBatches(numbered(batches, nonces), { funds, budget })
    // All at once: a round waits for one timeout of a remote signer at most.
    const signatures = await Promise.allSettled(prepared.accepted.map(sign))
    const { signed, deferred, stop } = planStoring(prepared, signatures)
    for (const one of signed) round.signed.push(await storeBatch(session, one, budget))
    round.deferred.push(...deferred)
    if (stop) round.deferred.push(...(await deferUnsigned(stop, funds)))
  }

  const sign = ({ batch, transaction }: AcceptedBatch) =>
    inStep(steps.start(claimsOf(batch), 'sign transaction'), () => chain.signer.sign(transaction)).catch(
      reportFailure,
    )

  async function storeBatch(
    session: PoolClient,
    { batch, nonce, transaction }: BatchToStore,
    budget: Budget,
  ): Promise<SignedBatch> {
    const claims = claimsOf(batch)
    const isFeeGrant = batch.some(({ payment }) => payment.transaction !== undefined)
    const { cost } = transaction
    await store(session, { claims, network: name, signer, nonce, transaction, cost, isFeeGrant })
    await budget.record(batch, transaction)
    return { claims, transaction, isFeeGrant }
  }

  const store: (...args: Parameters<SigningStore['storeSigned']>) => Promise<void> = (session, signed) =>
    inStep(
      steps.start(signed.claims, 'store transaction', {
        attributes: { 'tollgate.transaction': signed.transaction.hash },
      }),
      () => signing.storeSigned(session, signed),
    )

  async function deferUnsigned({ cause, unsigned }: Stop, funds: bigint): Promise<DeferredClaim[]> {
    if (cause.is === 'no-funds') logger.error('signer cannot cover fees', { funds, needed: cause.needed })
    const deferred = unsigned.map(async ({ batch, attempt }): Promise<DeferredClaim[]> => {
      const next = decideUnsigned(batch, attempt, cause)
      switch (next.action) {
        case 'next-round':
          return []
        case 'defer':
          return deferAll(batch, next.problem)
        case 'retry-individually':
          for (const { claim } of batch) retryIndividually(claim)
          return 'problem' in next ? deferAll(batch, next.problem) : []
        case 'refuse':
          return [
            await resolveRefusal(next.one, next.refusal).catch((problem: unknown) => ({
              claim: next.one.claim,
              problem,
            })),
          ]
      }
    })
    return (await Promise.all(deferred)).flat()
  }

  return { signAll }
}

const claimsOf = (batch: Batch): Claim[] => batch.map(({ claim }) => claim)

const numbered = (batches: readonly Batch[], nonces: readonly bigint[]): NumberedBatch[] =>
  batches.map((batch, index) => {
    const nonce = nonces[index]
    if (nonce === undefined) throw new Error(`no free nonce for batch ${index} of ${batches.length}`)
    return { batch, nonce }
  })
