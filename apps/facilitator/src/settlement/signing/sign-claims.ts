import { inTransaction, type PoolClient } from '@tollgate/database'
import { traced, type Logger, type Span } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { withNodeSpans } from '../../networks/with-node-spans'
import { createClaimBackoff } from '../claims/claim-backoff'
import { type Claim } from '../claims/claim'
import { type ClaimStore } from '../claims/claim-store'
import {
  createClaimValidator,
  isDeferredClaim,
  isValidClaim,
  type DeferredClaim,
} from '../claims/validate-claim'
import { idsOf } from '../log-fields'
import { type SettlementMetrics } from '../metrics'
import { type ReportOutcome } from '../report-outcome'
import { type SettlementSteps } from '../settlement-steps'
import { type Broadcaster } from './broadcaster'
import { type FeeBudget } from './fee-budget'
import { createBatchSigner, type SignedBatch, type SignedRound } from './sign-batches'
import { MAX_CLAIMS, MAX_PENDING, mayHaveMore, nextClaimLimit } from './signing-decisions'
import { type SigningStore } from './signing-store'

type RoundResult = SignedRound & { mayHaveMore: boolean }
const NO_CLAIMS: RoundResult = { signed: [], deferred: [], mayHaveMore: false }

/** Signs claims with one signer. Only the holder of the signer's lock may call it, on the session that holds the lock. */
export function createClaimSigner(parts: {
  network: Network
  signer: string
  claimStore: ClaimStore
  signing: SigningStore
  feeBudget: FeeBudget
  send: Broadcaster['send']
  reportOutcome: ReportOutcome
  metrics: SettlementMetrics
  steps: SettlementSteps
  logger: Logger
  now: () => Date
}) {
  const { network, signer, claimStore, signing, feeBudget, metrics, steps, logger, now } = parts
  const { chain, name } = network
  const validatorIn = (step: Span | undefined) =>
    createClaimValidator({ network: withNodeSpans(network, step), now })
  const validator = validatorIn(undefined)
  const { postpone, waiting, forget } = createClaimBackoff(now)
  const individual = new Set<bigint>()
  const retryIndividually = ({ id }: Claim) => void individual.add(id)
  const batchSigner = createBatchSigner({
    network,
    signer,
    signing,
    resolveRefusal: validator.resolveRefusal,
    retryIndividually,
    metrics,
    steps,
    logger,
  })
  const report = createRoundReporter(parts)
  let limit = MAX_CLAIMS

  /**
   * Signs claims, commits them, and only then broadcasts: a crash leaves claims, or transactions that can be broadcast
   * unchanged. Resolves to whether there may be more to do at once.
   */
  async function signClaims(session: PoolClient): Promise<boolean> {
    const round = await signAndStore(session)
    for (const { id } of [
      ...round.signed.flatMap(({ claims }) => claims),
      ...round.deferred.flatMap(completed),
    ]) {
      individual.delete(id)
      forget(id)
    }
    report(round)
    return round.mayHaveMore
  }

  async function signAndStore(session: PoolClient): Promise<RoundResult> {
    let locked: Claim[] = []
    // Before the database transaction, because a remote signer that failed is asked again.
    const isAvailable = await chain.signer.isAvailable(signer)
    try {
      const round = await inTransaction(session, async () => {
        const room = isAvailable ? MAX_PENDING - (await signing.unminedCount(session, name, signer)) : 0
        // Transactions that payers signed need no nonce of ours.
        if (room > 0 || chain.payments.sponsorship)
          locked = await claimStore.lockClaimed(session, name, limit, waiting())
        return locked.length === 0 ? NO_CLAIMS : signLocked(session, locked, room)
      })
      limit = nextClaimLimit(limit, 'succeeded')
      return round
    } catch (error) {
      const [first, ...others] = locked
      if (!first) throw error
      if (others.length === 0) await defer(session, first, { problem: error })
      else logger.warn('signing round failed', { settlementIds: locked.map(({ id }) => id), error })
      limit = nextClaimLimit(limit, { failedWith: locked.length })
      return { signed: [], deferred: [], mayHaveMore: true }
    }
  }

  async function signLocked(
    session: PoolClient,
    locked: readonly Claim[],
    room: number,
  ): Promise<RoundResult> {
    const reserved = await claimStore.reserve(session, name, locked)
    const validated = await Promise.all(
      reserved.map((one) =>
        traced(steps.parentOf(one.claim), 'validate settlement', {}, (span) =>
          (span ? validatorIn(span) : validator).validateClaim(one, {
            isIndividual: individual.has(one.claim.id),
          }),
        ),
      ),
    )
    const valid = validated.filter(isValidClaim)
    const budget = await feeBudget.open(session, network, valid, { signing, logger })
    const { signed, deferred: unsigned } = await batchSigner.signAll(session, valid, { room, budget })
    const deferred = [...validated.filter(isDeferredClaim), ...unsigned]
    for (const one of deferred)
      if ('problem' in one) await defer(session, one.claim, one)
      else await claimStore.conclude(session, one.claim.id, one.outcome)
    const counted = { locked: locked.length, reserved: reserved.length, deferred: deferred.length }
    return { signed, deferred, mayHaveMore: mayHaveMore({ limit, ...counted, signed }) }
  }

  async function defer(
    session: PoolClient,
    claim: Claim,
    { problem, isBrief = false }: { problem: unknown; isBrief?: boolean },
  ): Promise<void> {
    if (!isBrief) postpone(claim.id)
    const text = problem instanceof Error ? problem.message : String(problem)
    await claimStore.noteProblem(session, [claim.id], text)
    const level = problem instanceof Error ? 'warn' : 'info'
    logger.log(level, 'claim deferred', { ...idsOf(claim), problem: text })
  }

  return { signClaims }
}

const completed = (one: DeferredClaim): Claim[] => ('outcome' in one ? [one.claim] : [])

const createRoundReporter =
  ({
    network: { name },
    send,
    reportOutcome,
    metrics,
    logger,
  }: {
    network: Network
    send: Broadcaster['send']
    reportOutcome: ReportOutcome
    metrics: SettlementMetrics
    logger: Logger
  }) =>
  ({ signed, deferred }: { signed: readonly SignedBatch[]; deferred: readonly DeferredClaim[] }): void => {
    for (const one of deferred) if ('outcome' in one) reportOutcome(one.claim, one.outcome)
    for (const { claims, transaction, isFeeGrant } of signed) {
      const message = isFeeGrant ? 'fee grant signed' : 'settlement signed'
      for (const claim of claims) logger.info(message, { ...idsOf(claim), transaction: transaction.hash })
      if (!isFeeGrant) metrics.batch({ network: name, payments: claims.length })
      send(transaction, claims)
    }
  }
