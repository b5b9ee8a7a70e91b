import { ChainUnavailable, type OwnTransaction, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { withNodeSpans } from '../../networks/with-node-spans'
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
import { createSignerFailureReporter } from './signer-failures'
import {
  decideBatch,
  decideUnsigned,
  deferAll,
  payersNeedingGrant,
  planRound,
  signedTransaction,
  type Attempt,
  type BatchAction,
  type StopCause,
} from './signing-decisions'
import { type SigningStore } from './signing-store'

/** `isFeeGrant`: settles nothing, but must come before its payers' own transactions. */
export type SignedBatch = { claims: readonly Claim[]; transaction: SignedTransaction; isFeeGrant: boolean }
export type SignedRound = { signed: SignedBatch[]; deferred: DeferredClaim[] }

type Batch = readonly ValidClaim[]

/** Batches valid claims, signs the batches and stores them, within the budget and the database transaction of the round. */
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
  /** `room`: how many more transactions of the signer may be pending. */
  async function signAll(
    session: PoolClient,
    valid: readonly ValidClaim[],
    { room, budget }: { room: number; budget: Budget },
  ): Promise<SignedRound> {
    const payers = room > 0 ? payersNeedingGrant(valid) : []
    const busyPayers =
      payers.length === 0 ? new Set<string>() : await signing.payersBehindFirst(session, name, payers)
    const plan = planRound(valid, { room, busyPayers, findUsedUpRefusal: budget.findUsedUpRefusal })
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
      // Only the queries before the first signature throw it.
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

  /** In the order of nonces: what follows a batch that cannot be signed is left for the next round. */
  async function signBatches(
    session: PoolClient,
    batches: readonly Batch[],
    { round, budget }: { round: SignedRound; budget: Budget },
  ): Promise<void> {
    const [funds, from] = await Promise.all([chain.signer.funds(signer), chain.signer.nextNonce(signer)])
    const nonces = await signing.freeNonces(session, name, signer, { from, count: batches.length })
    const nonceOf = (index: number): bigint => {
      const nonce = nonces[index]
      if (nonce === undefined) throw new Error(`no free nonce for batch ${index} of ${batches.length}`)
      return nonce
    }
    const attempts = await Promise.all(batches.map((batch, index) => attempt(batch, nonceOf(index))))
    let spent = 0n
    for (const [index, whole] of batches.entries()) {
      const nonce = nonceOf(index)
      const fitted = await fit(whole, attempts[index], { budget, nonce, funds, spent })
      const { batch, decision } = fitted
      round.deferred.push(...fitted.deferred)
      if (decision.action === 'stop') {
        if (decision.cause.is === 'no-funds')
          logger.error('signer cannot cover fees', { funds, needed: decision.cause.needed })
        const unsigned = [batch, ...batches.slice(index + 1)]
        const theirs = [fitted.attempt, ...attempts.slice(index + 1)]
        round.deferred.push(...(await deferUnsigned(unsigned, theirs, decision.cause)))
        return
      }
      round.signed.push(
        await storeBatch(session, batch, { nonce, budget, transaction: decision.transaction }),
      )
      spent += decision.transaction.cost
    }
  }

  async function attempt(batch: Batch, nonce: bigint): Promise<Attempt | undefined> {
    const claims = batch.map(({ claim }) => claim)
    const signing = inStep(steps.start(claims, 'sign transaction'), (span) =>
      withNodeSpans(network, span).chain.signer.sign(batch, { signer, nonce }),
    ).catch(reportFailure)
    return (await Promise.allSettled([signing]))[0]
  }

  /** Takes the cost of the batch from the budget; signs it again without the payments that have no room in their share. */
  async function fit(
    whole: Batch,
    signed: Attempt | undefined,
    { budget, nonce, funds, spent }: { budget: Budget; nonce: bigint; funds: bigint; spent: bigint },
  ): Promise<{
    batch: Batch
    attempt: Attempt | undefined
    deferred: DeferredClaim[]
    decision: Exclude<BatchAction, { action: 'sign-again' }>
  }> {
    const deferred: DeferredClaim[] = []
    let [batch, latest] = [whole, signed]
    for (let signedAgain = 0; ; signedAgain++) {
      const transaction = signedTransaction(latest)
      const verdict = transaction && budget.take(batch, transaction.cost)
      const decision = decideBatch(batch, { transaction, verdict, signedAgain, spent, funds, signer })
      if ('deferred' in decision) deferred.push(...(decision.deferred ?? []))
      if (decision.action !== 'sign-again') return { batch, attempt: latest, deferred, decision }
      batch = decision.rest
      latest = await attempt(batch, nonce)
    }
  }

  async function storeBatch(
    session: PoolClient,
    batch: Batch,
    { nonce, budget, transaction }: { nonce: bigint; budget: Budget; transaction: OwnTransaction },
  ): Promise<SignedBatch> {
    const claims = batch.map(({ claim }) => claim)
    const isFeeGrant = batch.some(({ payment }) => payment.transaction !== undefined)
    const { cost } = transaction
    await store(session, {
      claims,
      network: name,
      signer,
      nonce,
      transaction,
      cost,
      isFeeGrant,
    })
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

  async function deferUnsigned(
    batches: readonly Batch[],
    attempts: readonly (Attempt | undefined)[],
    cause: StopCause,
  ): Promise<DeferredClaim[]> {
    const deferred = batches.map(async (batch, index): Promise<DeferredClaim[]> => {
      const next = decideUnsigned(batch, attempts[index], cause)
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
