import {
  ChainUnavailable,
  SignerUnavailable,
  type OwnTransaction,
  type Refusal,
  type UnsignedTransaction,
} from '@tollgate/chains'
import { type Claim } from '../claims/claim'
import { WAITS_FOR_ITS_PAYER, type DeferredClaim, type ValidClaim } from '../claims/validate-claim'
import { isRefusal } from '../refusal'
import { type Verdict } from './fee-budget'
import { isWait, type Wait } from './grant-budget'

/** What the signer does with claims and batches. Nothing in this file asks the chain, spends or writes. */

export const MAX_CLAIMS = 450
/** Nodes keep few pending transactions of one account. */
export const MAX_PENDING = 16
/** Other signers wait for the budget while a batch is prepared again. */
const MAX_PREPARED_AGAIN = 2
const WAITS_FOR_OURS = 'waits for transactions of ours that are not mined'

export type Batch = readonly ValidClaim[]
export type Preparation = PromiseSettledResult<UnsignedTransaction | Refusal>
export type Signature = PromiseSettledResult<OwnTransaction>
type Attempt = Preparation | Signature

/** After a failed round, the next ones are smaller, until the claim at fault is alone and is deferred. */
export const nextClaimLimit = (limit: number, round: { failedWith: number } | 'succeeded'): number =>
  round === 'succeeded' ? Math.min(2 * limit, MAX_CLAIMS) : Math.ceil(round.failedWith / 2)

/** Payers for whom a transaction of ours must come before their own. */
export const payersNeedingGrant = (valid: readonly ValidClaim[]): string[] =>
  valid.flatMap((one) => (one.payment.transaction && !isReady(one) ? [one.payment.payer] : []))

export type RoundPlan = {
  payerSigned: ValidClaim[]
  ours: ValidClaim[]
  deferred: DeferredClaim[]
}

/** `room`: how many more transactions may be pending. `findUsedUp`: why the budget has no room for any fee for the payment. */
export function planRound(
  valid: readonly ValidClaim[],
  {
    room,
    busyPayers,
    findUsedUp,
    grantsWait,
  }: {
    room: number
    /** Of two fee grants for one payer, in whichever assets, the second would fail. */
    busyPayers: ReadonlySet<string>
    findUsedUp: (one: ValidClaim) => Refusal | Wait | undefined
    /** A transaction in flight may leave its nonce unused, and a fee grant cannot be moved to it. */
    grantsWait: boolean
  },
): RoundPlan {
  const plan: RoundPlan = { payerSigned: valid.filter(isReady), ours: [], deferred: [] }
  const grants: ValidClaim[] = []
  let isGrantBefore = false
  for (const one of valid.filter((candidate) => !isReady(candidate))) {
    const { claim, payment } = one
    const isBusy = payment.transaction !== undefined && busyPayers.has(payment.payer)
    const problem = room > 0 && !isBusy ? findUsedUp(one) : undefined
    if (room <= 0) plan.deferred.push({ claim, problem: WAITS_FOR_OURS })
    else if (isBusy) plan.deferred.push({ claim, problem: WAITS_FOR_ITS_PAYER })
    else if (problem) plan.deferred.push(deferUnspent(claim, problem))
    else if (grantsWait && payment.transaction !== undefined) {
      isGrantBefore = true
      plan.deferred.push({ claim, problem: WAITS_FOR_OURS, isBrief: true })
    } else if (isGrantBefore && payment.countersigned)
      plan.deferred.push({ claim, problem: WAITS_FOR_OURS, isBrief: true })
    else (payment.transaction === undefined ? plan.ours : grants).push(one)
  }
  return { ...plan, ours: [...grants, ...plan.ours] }
}

const isReady = ({ sponsorship }: ValidClaim) => sponsorship?.isReady === true

/** Asks no chain: a refused claim that was broadcast may still settle and waits; any other fails. */
function deferUnspent(claim: Claim, problem: Refusal | Wait): DeferredClaim {
  if (isWait(problem)) return { claim, problem: problem.waitsFor }
  const { reason, detail } = problem
  return claim.hasTransaction
    ? { claim, problem: detail }
    : { claim, outcome: { status: 'failed', reason, detail } }
}

export const deferAll = (claims: readonly ValidClaim[], problem: unknown): DeferredClaim[] =>
  claims.map(({ claim }) => ({ claim, problem }))

export const preparedTransaction = (attempt: Preparation): UnsignedTransaction | undefined =>
  attempt.status === 'fulfilled' && !isRefusal(attempt.value) ? attempt.value : undefined

export type BatchAction =
  | { action: 'sign'; transaction: UnsignedTransaction }
  | { action: 'prepare-again'; rest: Batch; deferred: DeferredClaim[] }
  /** All others stop the round here: nonces are used in order. */
  | { action: 'stop'; cause: StopCause; deferred?: DeferredClaim[] }

export type StopCause =
  | { is: 'unsigned' }
  | { is: 'no-funds'; needed: bigint; problem: string }
  | { is: 'over-daily-limit'; refusal: Refusal }
  /** What remains of the batch is prepared in the next round. */
  | { is: 'next-round' }

/** For the next batch in the order of nonces. `verdict`: of the budget, if the batch is prepared. */
export function decideBatch(
  batch: Batch,
  {
    transaction,
    verdict,
    preparedAgain,
    spent,
    funds,
    signer,
  }: {
    transaction: UnsignedTransaction | undefined
    verdict: Verdict | undefined
    preparedAgain: number
    spent: bigint
    funds: bigint
    signer: string
  },
): BatchAction {
  if (!transaction || !verdict) return { action: 'stop', cause: { is: 'unsigned' } }
  if ('over' in verdict) {
    const rest = batch.filter(({ claim }) => !verdict.over.has(claim))
    const deferred = [...verdict.over].map(([claim, problem]) => deferUnspent(claim, problem))
    const isLast = rest.length === 0 || preparedAgain >= MAX_PREPARED_AGAIN
    return isLast
      ? { action: 'stop', cause: { is: 'next-round' }, deferred }
      : { action: 'prepare-again', rest, deferred }
  }
  const needed = spent + transaction.cost
  if (needed > funds) {
    const problem = `${signer} has ${funds} and may need ${needed} for fees, in the smallest native unit`
    return { action: 'stop', cause: { is: 'no-funds', needed, problem } }
  }
  // Some of a batch may have room where all of it has none.
  if ('refusal' in verdict)
    return { action: 'stop', cause: { is: 'over-daily-limit', refusal: verdict.refusal } }
  return { action: 'sign', transaction }
}

/** `deferred`: the payments that have no room in their share beside this batch and those before it. */
export type AcceptedBatch = {
  batch: Batch
  nonce: bigint
  transaction: UnsignedTransaction
  deferred: readonly DeferredClaim[]
}

export type Stop = {
  cause: StopCause
  deferred: readonly DeferredClaim[]
  unsigned: readonly { batch: Batch; attempt: Attempt | undefined }[]
}

/** In the order of nonces; `stop`: why not all batches are accepted. */
export type PreparedRound = { accepted: readonly AcceptedBatch[]; stop?: Stop }

export type BatchToStore = Omit<AcceptedBatch, 'transaction' | 'deferred'> & { transaction: OwnTransaction }
export type StorePlan = { signed: BatchToStore[]; deferred: DeferredClaim[]; stop?: Stop }

/**
 * Up to the first batch without a signature, because nonces are used in order. The budget's decisions from there on are void:
 * they count fees that are not spent.
 */
export function planStoring({ accepted, stop }: PreparedRound, signatures: readonly Signature[]): StorePlan {
  const plan: StorePlan = { signed: [], deferred: [] }
  for (const [index, { batch, nonce, deferred }] of accepted.entries()) {
    const signature = signatures[index]
    if (signature?.status !== 'fulfilled') {
      const behind = accepted.slice(index).map((one, i) => ({
        batch: one.batch,
        attempt: signatures[index + i],
      }))
      const unsigned = [...behind, ...(stop?.unsigned ?? [])]
      return { ...plan, stop: { cause: { is: 'unsigned' }, deferred: [], unsigned } }
    }
    plan.signed.push({ batch, nonce, transaction: signature.value })
    plan.deferred.push(...deferred)
  }
  if (!stop) return plan
  return { ...plan, deferred: [...plan.deferred, ...stop.deferred], stop }
}

export type UnsignedAction =
  | { action: 'next-round' }
  | { action: 'defer'; problem: unknown }
  /** In batches of their own, in later rounds. */
  | { action: 'retry-individually'; problem?: unknown }
  /** The chain decides whether the payment fails or waits. */
  | { action: 'refuse'; one: ValidClaim; refusal: Refusal }

export function decideUnsigned(batch: Batch, attempt: Attempt | undefined, cause: StopCause): UnsignedAction {
  switch (cause.is) {
    case 'next-round':
      return { action: 'next-round' }
    case 'no-funds':
      return { action: 'defer', problem: cause.problem }
    case 'over-daily-limit':
      return refuseBatch(batch, cause.refusal)
    case 'unsigned': {
      if (attempt?.status === 'fulfilled')
        return isRefusal(attempt.value) ? refuseBatch(batch, attempt.value) : { action: 'next-round' }
      const problem: unknown = attempt?.reason
      return problem instanceof ChainUnavailable || problem instanceof SignerUnavailable
        ? { action: 'defer', problem }
        : { action: 'retry-individually', problem }
    }
  }
}

/** One payment of a batch may be the cause. */
function refuseBatch(batch: Batch, refusal: Refusal): UnsignedAction {
  const [one, ...others] = batch
  return one && others.length === 0 ? { action: 'refuse', one, refusal } : { action: 'retry-individually' }
}

export const mayHaveMore = ({
  limit,
  locked,
  reserved,
  deferred,
  signed,
}: {
  limit: number
  locked: number
  /** Of the locked ones, those whose payer no other signer has locked. */
  reserved: number
  deferred: number
  signed: readonly { claims: readonly unknown[] }[]
}): boolean => {
  const batched = signed.reduce((count, { claims }) => count + claims.length, 0)
  return locked >= limit || signed.length > 0 || reserved > deferred + batched
}
