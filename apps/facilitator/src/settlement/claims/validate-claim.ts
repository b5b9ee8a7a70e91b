import { ChainUnavailable, type PendingPayment, type Refusal, type Sponsorship } from '@tollgate/chains'
import { withTimeout } from '@tollgate/protocol'
import { type Network } from '../../networks/network'
import { claimOutcome } from './claim-outcome'
import { type Claim, type ClaimOutcome } from './claim'
import { type ClaimStore } from './claim-store'

/** Mined transactions of ours per day, payer and asset that may settle nothing; a retry by an operator allows one more. */
const MAX_WASTED = 3
/** All claims of a signing round wait for the slowest answer. */
const STATUS_TIMEOUT_MS = 10_000
export const WAITS_FOR_ITS_PAYER = 'waits for other payments of its payer'

type Candidate = Awaited<ReturnType<ClaimStore['reserve']>>[number]
/** `seen`: the newest block at validation. `sponsorship`: only if its payer signed a whole transaction. */
export type ValidClaim = PendingPayment & { claim: Claim; seen: bigint; sponsorship?: Sponsorship }
export type DeferredClaim = { claim: Claim } & ({ outcome: ClaimOutcome } | { problem: unknown })

export type ClaimValidator = ReturnType<typeof createClaimValidator>

/** Validates claims again by the current chain state. Writes nothing. */
export function createClaimValidator({ network, now }: { network: Network; now: () => Date }) {
  const { chain, family } = network

  /** A claim may have waited, and gas must not be spent on an invalid payment. `isIndividual`: its batch could not be signed. */
  async function validateClaim(
    { claim, reserved, before, wasted }: Candidate,
    { isIndividual }: { isIndividual: boolean },
  ): Promise<ValidClaim | DeferredClaim> {
    const { terms, attempts, isRetried } = claim
    const since = minBlockOf(claim)
    try {
      const payment = family.readPayment(claim.payload)
      if (!payment)
        return failed(claim, { reason: 'invalid_payload', detail: 'the stored payload cannot be read' })
      const verify = (reservedFunds: bigint) =>
        chain.payments.verify({ payment, terms, now: now(), reserved: reservedFunds, minBlock: since })
      const [{ number: seen }, problem] = await Promise.all([chain.node.head(), verify(reserved)])
      const refusal = problem ?? (claim.isAssetSuspended ? SUSPENDED : undefined)
      const isAlone = attempts > 0 || isIndividual
      const valid: ValidClaim = { claim, payment, terms, isAlone, isBehind: reserved > 0n, seen }
      if (lacksFunds(refusal) && reserved > 0n) return { claim, problem: WAITS_FOR_ITS_PAYER }
      if (refusal) return await resolveRefusal(valid, refusal)
      if (payment.transaction)
        valid.sponsorship = (await chain.payments.sponsorship?.(payment, since)) ?? PAYER_PAYS
      if (wasted >= MAX_WASTED && !isRetried && costsUs(valid))
        return await resolveRefusal(valid, {
          reason: 'invalid_transaction_state',
          detail: `${wasted} transactions for payments of its payer in the asset settled nothing within a day`,
        })
      const exceedsBalance = before > 0n && lacksFunds(await verify(reserved + before))
      return exceedsBalance ? { claim, problem: WAITS_FOR_ITS_PAYER } : valid
    } catch (error) {
      return { claim, problem: error }
    }
  }

  /**
   * Resolves a claim that cannot be signed: settled if a third party sent it, failed if it can no longer be settled. Rejects if
   * the chain gives no answer.
   */
  async function resolveRefusal(
    { claim, payment, terms, seen }: ValidClaim,
    refusal: Refusal,
  ): Promise<DeferredClaim> {
    const status = await withTimeout(
      chain.payments.paymentStatus({ payment, terms, minBlock: seen }),
      STATUS_TIMEOUT_MS,
      () => {
        throw new ChainUnavailable(`no payment status within ${STATUS_TIMEOUT_MS} ms`)
      },
    )
    if (status.status === 'settled') return { claim, outcome: claimOutcome(claim, status) }
    if (status.status === 'void' && claim.wasSent) return { claim, outcome: claimOutcome(claim, status) }
    // `void` is final at any height; `open` from a stale node may be out of date.
    if (status.status === 'open' && seen < minBlockOf(claim))
      throw new ChainUnavailable(`the node is at block ${seen}, behind ${claim.since}, by which it was good`)
    if (status.status === 'pending' || (status.status === 'open' && claim.wasSent))
      return { claim, problem: refusal.detail }
    return failed(claim, refusal)
  }

  return { validateClaim, resolveRefusal }
}

/** Any state counts for an operator's retry: a node may have reported a false block, or a chain restarted from genesis. */
const minBlockOf = ({ since, isRetried }: Claim): bigint => (isRetried ? 0n : since)

const SUSPENDED: Refusal = { reason: 'invalid_payment_requirements', detail: 'the asset is suspended' }
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
