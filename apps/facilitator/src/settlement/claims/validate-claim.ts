import { ChainUnavailable, type PendingPayment, type Refusal, type Sponsorship } from '@tollgate/chains'
import { type Network } from '../../networks/network'
import { claimOutcome } from './claim-outcome'
import { type Claim, type ClaimOutcome } from './claim'
import { type ClaimStore } from './claim-store'

/** Mined transactions of ours per day, payer and asset that may settle nothing; an operator may allow one more. */
const MAX_IN_VAIN = 3
/** A round is a transaction of the database, and all in it wait for the slowest. */
const FATE_MS = 10_000
export const WAITS_FOR_ITS_PAYER = 'waits for other payments of its payer'

type Candidate = Awaited<ReturnType<ClaimStore['reserve']>>[number]
/**
 * A claim that is good now. `seen` is the newest block when it was judged; `sponsorship` is there where its payer signed a
 * transaction of its own.
 */
export type ValidClaim = PendingPayment & { claim: Claim; seen: bigint; sponsorship?: Sponsorship }
/** A claim that cannot go: it ends, or it has to wait. */
export type DeferredClaim = { claim: Claim } & ({ outcome: ClaimOutcome } | { problem: unknown })

/** Tells whether claims may be signed, by what their chain says now. Writes nothing. */
export function createClaimValidator({ network, now }: { network: Network; now: () => Date }) {
  const { chain, family } = network

  /**
   * A claim may have waited: what was good when it was made must be so still, or gas is spent for nothing. `wentWrong`: in a
   * batch, before anything was sent.
   */
  async function judge(
    { claim, reserved, before, inVain }: Candidate,
    { wentWrong }: { wentWrong: boolean },
  ): Promise<ValidClaim | DeferredClaim> {
    const { terms, attempts, isRetried } = claim
    const since = sinceOf(claim)
    try {
      const payment = family.readPayment(claim.payload)
      if (!payment)
        return failed(claim, { reason: 'invalid_payload', detail: 'the stored payload cannot be read' })
      const verify = (spokenFor: bigint) => chain.verify(payment, terms, now(), spokenFor, since)
      const [{ number: seen }, unfit] = await Promise.all([chain.head(), verify(reserved)])
      const refusal = unfit ?? (claim.isAssetSuspended ? SUSPENDED : undefined)
      const isAlone = attempts > 0 || wentWrong
      const good: ValidClaim = { claim, payment, terms, isAlone, isBehind: reserved > 0n, seen }
      if (lacksFunds(refusal) && reserved > 0n) return { claim, problem: WAITS_FOR_ITS_PAYER }
      if (refusal) return await refuse(good, refusal)
      if (payment.transaction) good.sponsorship = (await chain.sponsorship?.(payment, since)) ?? PAYS_ITSELF
      if (inVain >= MAX_IN_VAIN && !isRetried && isToBePaidByUs(good))
        return await refuse(good, {
          reason: 'invalid_transaction_state',
          detail: `${inVain} transactions for payments of its payer in the asset settled nothing within a day`,
        })
      const isTooMuch = before > 0n && lacksFunds(await verify(reserved + before))
      return isTooMuch ? { claim, problem: WAITS_FOR_ITS_PAYER } : good
    } catch (error) {
      return { claim, problem: error }
    }
  }

  /**
   * Resolves a claim that cannot be signed: settled if a third party sent it, failed if it can no longer be settled. Rejects if
   * the chain gives no answer.
   */
  async function refuse(
    { claim, payment, terms, seen }: ValidClaim,
    refusal: Refusal,
  ): Promise<DeferredClaim> {
    const fate = await within(FATE_MS, chain.paymentStatus(payment, terms, seen))
    if (fate.status === 'settled') return { claim, outcome: claimOutcome(claim, fate) }
    if (fate.status === 'void' && claim.wasSent) return { claim, outcome: claimOutcome(claim, fate) }
    // What is void by an old block is void for good; what is open may be good since.
    if (fate.status === 'open' && seen < sinceOf(claim))
      throw new ChainUnavailable(`the node is at block ${seen}, behind ${claim.since}, by which it was good`)
    if (fate.status === 'pending' || (fate.status === 'open' && claim.wasSent))
      return { claim, problem: refusal.detail }
    return failed(claim, refusal)
  }

  return { judge, refuse }
}

/** An operator may want it judged by any state: a node may have made a block up, or a chain restarted from genesis. */
const sinceOf = ({ since, isRetried }: Claim): bigint => (isRetried ? 0n : since)

const SUSPENDED: Refusal = { reason: 'invalid_payment_requirements', detail: 'the asset is suspended' }
const PAYS_ITSELF: Sponsorship = { fee: 0n, isReady: true }

/** What is allowed already is counted as spent, and lost if the payment does not use it. */
const isToBePaidByUs = ({ sponsorship }: ValidClaim) =>
  sponsorship === undefined || (sponsorship.fee > 0n && !sponsorship.isReady)

export const isValidClaim = (judged: ValidClaim | DeferredClaim): judged is ValidClaim => 'payment' in judged
export const isDeferredClaim = (judged: ValidClaim | DeferredClaim): judged is DeferredClaim =>
  !isValidClaim(judged)

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    const error = new ChainUnavailable(`what became of it is not told within ${ms} ms`)
    timer = setTimeout(() => reject(error), ms)
  })
  return Promise.race([answer, tooLate]).finally(() => clearTimeout(timer))
}

const lacksFunds = (refusal: Refusal | undefined) => refusal?.reason === 'insufficient_funds'

const failed = (claim: Claim, { reason, detail }: Refusal): DeferredClaim => ({
  claim,
  outcome: { status: 'failed', reason, detail },
})
