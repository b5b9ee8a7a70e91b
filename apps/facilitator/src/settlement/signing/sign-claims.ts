import { ChainUnavailable, type OwnTransaction, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { inTransaction, type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type SettlementMetrics } from '../metrics'
import { type Broadcaster } from './broadcaster'
import { idsOf } from '../log-fields'
import {
  createClaimValidator,
  isValidClaim,
  isDeferredClaim,
  WAITS_FOR_ITS_PAYER,
  type ValidClaim,
  type DeferredClaim,
} from '../claims/validate-claim'
import { type Budget, type FeeBudget } from './fee-budget'
import { isRefusal } from '../refusal'
import { createClaimBackoff } from '../claims/claim-backoff'
import { type Claim } from '../claims/claim'
import { type ClaimStore } from '../claims/claim-store'
import { type SigningStore } from './signing-store'
import { type RecordOutcome } from '../record-outcome'

/** Claims that are signed in one transaction of the database. */
const MAX_CLAIMS = 100
/** Nodes keep few transactions of one account that are not mined; what waits for them goes together, later. */
const MAX_UNMINED = 16
/** How often a batch is signed again at most without those that have no room: other signers wait for the budget meanwhile. */
const MAX_SIGNED_AGAIN = 2
const WAITS_FOR_OURS = 'waits for transactions of ours that are not mined'

type Attempt = PromiseSettledResult<OwnTransaction | Refusal>

/** `isFeeGrant`: of a transaction that settles nothing, and only has to come before its payers' own. */
type SignedBatch = { claims: readonly Claim[]; transaction: SignedTransaction; isFeeGrant: boolean }
type RoundResult = { held: DeferredClaim[]; sent: SignedBatch[]; isMore: boolean }

/** Makes transactions of one signer out of claims. Only who holds the lock of that signer may call it. */
export function createClaimSigner(parts: {
  network: Network
  signer: string
  store: ClaimStore
  signing: SigningStore
  feeBudget: FeeBudget
  send: Broadcaster['send']
  recordOutcome: RecordOutcome
  counts: SettlementMetrics
  logger: Logger
  now: () => Date
}) {
  const { network, signer, store, signing, feeBudget, send, recordOutcome, counts, logger, now } = parts
  const { chain, name } = network
  const { judge, refuse } = createClaimValidator({ network, now })
  const { postpone, waiting, forget } = createClaimBackoff(now)
  /** Went wrong in a batch, before anything was sent. */
  const alone = new Set<bigint>()
  let claimsAtOnce = MAX_CLAIMS

  /**
   * Signs what is claimed, stores it, and only then sends it: a crash anywhere leaves a claim, or a transaction that can
   * be sent again as it is. Resolves to whether there may be more to do at once.
   */
  async function signClaims(session: PoolClient): Promise<boolean> {
    const { held, sent, isMore } = await round(session)
    for (const one of held)
      if ('outcome' in one) {
        forgetAll([one.claim])
        recordOutcome(one.claim, one.outcome)
      }
    for (const { claims, transaction, isFeeGrant } of sent) {
      forgetAll(claims)
      const message = isFeeGrant ? 'what has to come before a settlement is signed' : 'settlement signed'
      for (const claim of claims) logger.info(message, { ...idsOf(claim), transaction: transaction.hash })
      if (!isFeeGrant) counts.batch({ network: name, payments: claims.length })
      send(transaction)
    }
    return isMore
  }

  /** Where a round fails as a whole the next ones are smaller, until the claim that it fails for is alone and lets others go first. */
  async function round(session: PoolClient): Promise<RoundResult> {
    let locked: Claim[] = []
    try {
      const done = await inTransaction(session, async () => {
        const room = MAX_UNMINED - (await signing.unminedCount(session, name, signer))
        // What payers sign whole needs no nonce of ours, and must not wait for those that have none left.
        if (room > 0 || chain.sponsorship)
          locked = await store.lockClaimed(session, name, claimsAtOnce, waiting())
        return locked.length === 0 ? { held: [], sent: [], isMore: false } : signRound(session, locked, room)
      })
      claimsAtOnce = Math.min(2 * claimsAtOnce, MAX_CLAIMS)
      return done
    } catch (error) {
      const [first] = locked
      if (!first) throw error
      if (locked.length === 1) await wait(session, first, error)
      else
        logger.warn('claims could not be signed together; trying fewer', {
          settlementIds: locked.map(({ id }) => id),
          error,
        })
      claimsAtOnce = Math.ceil(locked.length / 2)
      return { held: [], sent: [], isMore: true }
    }
  }

  async function signRound(
    session: PoolClient,
    locked: readonly Claim[],
    room: number,
  ): Promise<RoundResult> {
    const mine = await store.reserve(session, name, locked)
    const judged = await Promise.all(mine.map((one) => judge(one, { wentWrong: alone.has(one.claim.id) })))
    const good = judged.filter(isValidClaim)
    const spending = good.map(({ claim }) => claim)
    const budget = await feeBudget.open(session, network, spending, { signing, logger })
    const signed = await sign(session, good, { room, budget })
    const held = [...judged.filter(isDeferredClaim), ...signed.held]
    for (const one of held)
      if ('problem' in one) await wait(session, one.claim, one.problem)
      else await store.conclude(session, one.claim.id, one.outcome)
    const { sent } = signed
    const left = mine.length - held.length - sent.flatMap(({ claims }) => claims).length
    return { held, sent, isMore: locked.length >= claimsAtOnce || sent.length > 0 || left > 0 }
  }

  function forgetAll(claims: readonly Claim[]) {
    for (const { id } of claims) {
      alone.delete(id)
      forget(id)
    }
  }

  async function sign(
    session: PoolClient,
    good: readonly ValidClaim[],
    { room, budget }: { room: number; budget: Budget },
  ): Promise<{ sent: SignedBatch[]; held: DeferredClaim[] }> {
    const ready = good.filter(isReady)
    const unready = good.filter((one) => !isReady(one))
    const own = await storePayerTransactions(session, ready)
    if (unready.length === 0) return { sent: own, held: [] }
    if (room <= 0) return { sent: own, held: defer(unready, WAITS_FOR_OURS) }
    // Of two fee grants for one payer, in whichever assets, the second would fail.
    const payers = unready.flatMap(({ payment }) => (payment.transaction ? [payment.payer] : []))
    const busy = payers.length === 0 ? new Set() : await signing.payersBehindFirst(session, name, payers)
    const isBusy = ({ payment }: ValidClaim) => payment.transaction !== undefined && busy.has(payment.payer)
    const { within: ours, refused } = withinBudget(
      unready.filter((one) => !isBusy(one)),
      budget,
    )
    const waitingForFirst = [...defer(unready.filter(isBusy), WAITS_FOR_ITS_PAYER), ...refused]
    if (ours.length === 0) return { sent: own, held: waitingForFirst }
    const sent: SignedBatch[] = []
    try {
      const batches = await chain.batches(ours)
      const going = new Set(batches.flat())
      const behind = ours.filter((one) => !going.has(one))
      const held = await signBatches(session, batches.slice(0, room), { sent, budget })
      const waiting = defer(behind, WAITS_FOR_ITS_PAYER)
      return { sent: [...own, ...sent], held: [...held, ...waiting, ...waitingForFirst] }
    } catch (problem) {
      if (!(problem instanceof ChainUnavailable)) throw problem
      return { sent: own, held: [...defer(ours, problem), ...waitingForFirst] }
    }
  }

  /** Nonces in a row: where a batch cannot be signed, those after it that could be are left for the next round. */
  async function signBatches(
    session: PoolClient,
    batches: readonly (readonly ValidClaim[])[],
    { sent, budget }: { sent: SignedBatch[]; budget: Budget },
  ): Promise<DeferredClaim[]> {
    const [funds, from] = await Promise.all([chain.funds(signer), chain.nextNonce(signer)])
    const nonces = await signing.freeNonces(session, name, signer, { from, count: batches.length })
    const attempts = await Promise.allSettled(
      batches.map((batch, index) => chain.sign(batch, { signer, nonce: nonces[index] ?? from })),
    )
    const held: DeferredClaim[] = []
    let cost = 0n
    for (const [index, whole] of batches.entries()) {
      const nonce = nonces[index] ?? from
      const { batch, attempt, refused, overCap } = await fit(whole, attempts[index], { budget, nonce })
      held.push(...refused)
      if (batch.length === 0) return held
      if (attempt?.status !== 'fulfilled' || isRefusal(attempt.value)) {
        const [, ...behind] = batches.slice(index)
        const theirs = attempts.slice(index + 1)
        return [...held, ...(await unsigned([batch, ...behind], [attempt, ...theirs]))]
      }
      const transaction = attempt.value
      cost += transaction.cost
      if (cost > funds) {
        logger.error('signer cannot cover fees', { funds, needed: cost })
        const problem = `${signer} has ${funds} and may need ${cost} for fees, in the smallest native unit`
        return [...held, ...defer([...batch, ...batches.slice(index + 1).flat()], problem)]
      }
      // Some of a batch may have room where all of it has none: those go alone.
      if (overCap) {
        const refusing = [batch, ...batches.slice(index + 1)].map((those) => refuseBatch(those, overCap))
        return [...held, ...(await Promise.all(refusing)).flat()]
      }
      const claims = batch.map(({ claim }) => claim)
      const isFeeGrant = batch.some(({ payment }) => payment.transaction !== undefined)
      const { cost: most } = transaction
      await signing.storeSigned(session, {
        claims,
        network: name,
        signer,
        nonce,
        transaction,
        cost: most,
        isFeeGrant,
      })
      await budget.record(batch, transaction)
      sent.push({ claims, transaction, isFeeGrant })
    }
    return held
  }

  /**
   * Removes the payments whose user or client key has no room in its share, and signs the rest of the batch again, so that it
   * does not wait: twice at most, and what remains then is left for the next round. Takes the cost of the batch from the budget.
   */
  async function fit(
    whole: readonly ValidClaim[],
    signed: Attempt | undefined,
    { budget, nonce }: { budget: Budget; nonce: bigint },
  ): Promise<{
    batch: readonly ValidClaim[]
    attempt: Attempt | undefined
    refused: DeferredClaim[]
    overCap?: Refusal
  }> {
    const refused: DeferredClaim[] = []
    let [batch, attempt] = [whole, signed]
    for (let signedAgain = 0; ; signedAgain++) {
      if (attempt?.status !== 'fulfilled' || isRefusal(attempt.value)) return { batch, attempt, refused }
      const taken = budget.take(batch, attempt.value.cost)
      if (taken.isTaken) return { batch, attempt, refused }
      if ('refusal' in taken) return { batch, attempt, refused, overCap: taken.refusal }
      const { over } = taken
      for (const [claim, refusal] of over) refused.push(refuseUnspent(claim, refusal))
      batch = batch.filter(({ claim }) => !over.has(claim))
      if (batch.length === 0 || signedAgain === MAX_SIGNED_AGAIN) return { batch: [], attempt, refused }
      ;[attempt] = await Promise.allSettled([chain.sign(batch, { signer, nonce })])
    }
  }

  /** What becomes of those that could not be signed. */
  async function unsigned(
    batches: readonly (readonly ValidClaim[])[],
    attempts: readonly (Attempt | undefined)[],
  ): Promise<DeferredClaim[]> {
    const held = batches.map(async (batch, index) => {
      const attempt = attempts[index]
      if (attempt?.status === 'fulfilled')
        return isRefusal(attempt.value) ? refuseBatch(batch, attempt.value) : []
      const problem: unknown = attempt?.reason
      if (!(problem instanceof ChainUnavailable)) retryIndividually(batch)
      return defer(batch, problem)
    })
    return (await Promise.all(held)).flat()
  }

  async function refuseBatch(batch: readonly ValidClaim[], refusal: Refusal): Promise<DeferredClaim[]> {
    if (batch.length === 1) return refuseEach(batch, refusal)
    retryIndividually(batch)
    return []
  }

  const refuseEach = (those: readonly ValidClaim[], refusal: Refusal): Promise<DeferredClaim[]> =>
    Promise.all(
      those.map((one) =>
        refuse(one, refusal).catch((problem: unknown): DeferredClaim => ({ claim: one.claim, problem })),
      ),
    )

  function retryIndividually(batch: readonly ValidClaim[]) {
    for (const { claim } of batch) alone.add(claim.id)
  }

  /** What payers signed whole needs nothing of us but to be sent; where we bear its fee, that was allowed for before. */
  async function storePayerTransactions(
    session: PoolClient,
    ready: readonly ValidClaim[],
  ): Promise<SignedBatch[]> {
    const sent: SignedBatch[] = []
    for (const { claim, payment, sponsorship } of ready) {
      const { transaction } = payment
      if (!transaction) continue
      const cost = sponsorship?.fee ?? 0n
      const stored = { claims: [claim], network: name, signer, nonce: null, transaction, cost }
      await signing.storeSigned(session, stored)
      sent.push({ claims: [claim], transaction, isFeeGrant: false })
    }
    return sent
  }

  async function wait(session: PoolClient, claim: Claim, problem: unknown): Promise<void> {
    const { id } = claim
    postpone(id)
    const text = problem instanceof Error ? problem.message : String(problem)
    await store.noteProblem(session, [id], text)
    const level = problem instanceof Error ? 'warn' : 'info'
    logger.log(level, 'claim deferred', { ...idsOf(claim), problem: text })
  }

  return { signClaims }
}

/** Whether its payer's own transaction can be sent now. */
const isReady = ({ sponsorship }: ValidClaim) => sponsorship?.isReady === true

/** Divides payments into those that may go, and those whose user or client key has used up its share. */
function withinBudget(
  ours: readonly ValidClaim[],
  budget: Budget,
): { within: ValidClaim[]; refused: DeferredClaim[] } {
  const refused: DeferredClaim[] = []
  const within = ours.filter(({ claim }) => {
    const refusal = budget.isUsedUp(claim)
    if (refusal) refused.push(refuseUnspent(claim, refusal))
    return !refusal
  })
  return { within, refused }
}

/** Asks nothing of the chain: a claim that was broadcast may still settle and waits; any other fails. */
const refuseUnspent = (claim: Claim, { reason, detail }: Refusal): DeferredClaim =>
  claim.wasSent ? { claim, problem: detail } : { claim, outcome: { status: 'failed', reason, detail } }

const defer = (those: readonly ValidClaim[], problem: unknown): DeferredClaim[] =>
  those.map(({ claim }) => ({ claim, problem }))
