import {
  ChainUnavailable,
  type Payment,
  type PendingPayment,
  type Refusal,
  type Sponsorship,
  type Terms,
} from '@tollgate/chains'
import { withTimeout } from '@tollgate/protocol'
import { type Network } from '../../networks/network'
import { claimOutcome } from './claim-outcome'
import { type Claim, type ClaimOutcome } from './claim'
import { type ClaimStore } from './claim-store'
import { DENIED } from './denied-payment'

/** Mined transactions of ours per day, payer and asset that may settle nothing; a retry by an operator allows one more. */
const MAX_WASTED = 3
/** All claims of a signing round wait for the slowest answer. */
const STATUS_TIMEOUT_MS = 10_000
export const WAITS_FOR_ITS_PAYER = 'waits for other payments of its payer'

type Candidate = Awaited<ReturnType<ClaimStore['reserve']>>[number]
/** `headBlock`: the newest block at validation. `sponsorship`: only if its payer signed a whole transaction. */
export type ValidClaim = PendingPayment & { claim: Claim; headBlock: bigint; sponsorship?: Sponsorship }
/** `isBrief`: tried again in the next round, without a back-off. */
export type DeferredClaim = { claim: Claim } & (
  | { outcome: ClaimOutcome }
  | { problem: unknown; isBrief?: true }
)

export type ClaimValidator = ReturnType<typeof createClaimValidator>

/** Validates claims again by the current chain state. Writes nothing. */
export function createClaimValidator({ network, now }: { network: Network; now: () => Date }) {
  const { chain, family } = network

  /** A claim may have waited, and gas must not be spent on an invalid payment. `isIndividual`: its batch could not be signed. */
  async function validateClaim(
    candidate: Candidate,
    { isIndividual }: { isIndividual: boolean },
  ): Promise<ValidClaim | DeferredClaim> {
    const { claim } = candidate
    try {
      const payment = family.readPayment(claim.payload)
      return payment
        ? await validatePayment(candidate, payment, { isIndividual })
        : failed(claim, { reason: 'invalid_payload', detail: 'the stored payload cannot be read' })
    } catch (error) {
      return { claim, problem: error }
    }
  }

  async function validatePayment(
    { claim, reserved, before, wasted }: Candidate,
    payment: Payment,
    { isIndividual }: { isIndividual: boolean },
  ): Promise<ValidClaim | DeferredClaim> {
    const { terms, attempts } = claim
    const minBlock = minBlockOf(claim)
    const verify = (reservedFunds: bigint) =>
      chain.payments.verify({ payment, terms, now: now(), reserved: reservedFunds, minBlock })
    const [{ number: headBlock }, problem] = await Promise.all([chain.node.head(), verify(reserved)])
    const refusal = claim.isDenied ? DENIED : (problem ?? (claim.isAssetSuspended ? SUSPENDED : undefined))
    const isAlone = attempts > 0 || isIndividual
    const verified = { claim, payment, terms, isAlone, isBehind: reserved > 0n, headBlock }
    if (lacksFunds(refusal) && reserved > 0n) return { claim, problem: WAITS_FOR_ITS_PAYER }
    if (refusal) return resolveRefusal(verified, refusal)
    if (claim.arrived) await assertUnspent(verified)
    const valid = await withSponsorship(verified, minBlock)
    if (wasted >= MAX_WASTED && !claim.isRetryRequested && costsUs(valid))
      return resolveRefusal(valid, tooManyWasted(wasted))
    const exceedsBalance = before > 0n && lacksFunds(await verify(reserved + before))
    return exceedsBalance ? { claim, problem: WAITS_FOR_ITS_PAYER } : valid
  }

  /** A node that lags finds a payment valid that has arrived: our transaction for it would be wasted. */
  async function assertUnspent({ claim: { minBlock }, payment, terms }: ValidClaim): Promise<void> {
    if (await chain.payments.isSpentAt(payment, terms, minBlock))
      throw new ChainUnavailable(`The node finds a payment valid that was made by block ${minBlock}`)
  }

  async function withSponsorship(verified: ValidClaim, minBlock: bigint): Promise<ValidClaim> {
    const { payment } = verified
    if (!payment.transaction) return verified
    const sponsorship = (await chain.payments.sponsorship?.(payment, minBlock)) ?? PAYER_PAYS
    return { ...verified, sponsorship }
  }

  /**
   * Resolves a claim that cannot be signed: settled if a third party sent it, failed if it can no longer be settled. Rejects if
   * the chain gives no answer.
   */
  async function resolveRefusal(
    { claim, payment, terms, headBlock }: ValidClaim,
    refusal: Refusal,
  ): Promise<DeferredClaim> {
    const status = await withTimeout(
      chain.payments.paymentStatus({ payment, terms, minBlock: headBlock }),
      STATUS_TIMEOUT_MS,
      () => {
        throw new ChainUnavailable(`no payment status within ${STATUS_TIMEOUT_MS} ms`)
      },
    )
    if (status.status === 'settled') {
      const outcome = claimOutcome(claim, status)
      const place = await placeIn(status.hash, payment, terms)
      return { claim, outcome: outcome.status === 'settled' ? { ...outcome, place } : outcome }
    }
    if (status.status === 'void' && claim.hasTransaction)
      return { claim, outcome: claimOutcome(claim, status) }
    // `void` is final at any height; `open` from a stale node may be out of date.
    if (status.status === 'open' && headBlock < minBlockOf(claim))
      throw new ChainUnavailable(
        `the node is at block ${headBlock}, behind block ${claim.minBlock} of the claim`,
      )
    if (status.status === 'pending' || (status.status === 'open' && claim.hasTransaction))
      return { claim, problem: refusal.detail }
    return failed(claim, refusal)
  }

  async function placeIn(hash: string, payment: Payment, terms: Terms): Promise<string | undefined> {
    const transaction = await chain.node.transactionStatus(hash)
    return transaction.status === 'mined' ? transaction.placeOf(payment, terms) : undefined
  }

  return { validateClaim, resolveRefusal }
}

/** Any state counts for an operator's retry: a node may have reported a false block, or a chain restarted from genesis. */
const minBlockOf = ({ minBlock, isRetryRequested }: Claim): bigint => (isRetryRequested ? 0n : minBlock)

const SUSPENDED: Refusal = { reason: 'invalid_payment_requirements', detail: 'the asset is suspended' }
const tooManyWasted = (wasted: number): Refusal => ({
  reason: 'invalid_transaction_state',
  detail: `${wasted} transactions for payments of its payer in the asset settled nothing within a day`,
})
const PAYER_PAYS: Sponsorship = { fee: 0n, isReady: true }

/** A fee that is granted already counts as spent, and is lost if the payment does not use it. */
const costsUs = ({ sponsorship }: ValidClaim) =>
  sponsorship === undefined || (sponsorship.fee > 0n && !sponsorship.isReady)

export const isValidClaim = (validated: ValidClaim | DeferredClaim): validated is ValidClaim =>
  'payment' in validated
export const isDeferredClaim = (validated: ValidClaim | DeferredClaim): validated is DeferredClaim =>
  !isValidClaim(validated)

const lacksFunds = (refusal: Refusal | undefined) => refusal?.reason === 'insufficient_funds'

const failed = (claim: Claim, { reason, detail }: Refusal): DeferredClaim => ({
  claim,
  outcome: { status: 'failed', reason, detail },
})
