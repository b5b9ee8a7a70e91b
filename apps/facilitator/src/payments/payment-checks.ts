import { ChainUnavailable, type Refusal, type Transfer } from '@tollgate/chains'
import { dependsOnState } from '@tollgate/protocol'
import { type Caller } from '../clients/store'
import { type FeeBudget } from '../settlement/signing/fee-budget'
import { earliestArrival } from './earliest-arrival'
import { type PaymentAccess } from './payment-access'
import { type PaymentRequest } from './payment-request'
import { type VerificationCache } from './verification-cache'

export type PaymentChecks = ReturnType<typeof createPaymentChecks>

/** The checks that `/verify` and `/settle` share. They reject with `ChainUnavailable` if the network does not answer. */
export function createPaymentChecks({
  verificationCache,
  feeBudget,
  checkAccess,
  arrivedMaxAgeSeconds,
  now,
}: {
  verificationCache: VerificationCache
  feeBudget: FeeBudget
  checkAccess: PaymentAccess
  /** 0: no payment counts that was on chain before it was presented. */
  arrivedMaxAgeSeconds: number
  now: () => Date
}) {
  /** A use of the nonce that no reorg can drop is not missing from a node's events, and does not change. */
  async function rememberUnmade(
    request: PaymentRequest,
    refusal: Refusal,
    { mayBeUnspent }: { mayBeUnspent: boolean },
  ): Promise<void> {
    const { network, payment, terms } = request
    if (mayBeUnspent) return
    if (await falseIfUnavailable(network.chain.payments.isSpentFinally(payment, terms)))
      await verificationCache.rememberUnmade(request, refusal)
  }

  return {
    checkAccess,

    verifyOnChain: ({ network, payment, terms }: PaymentRequest): Promise<Refusal | undefined> =>
      network.chain.payments.verify({ payment, terms, now: now() }),

    /**
     * Finds the transfer, by the payer or by anyone, that has already made a payment to the caller's own recipient which the chain
     * refuses. A transfer that is too old does not count.
     */
    async findArrival(
      request: PaymentRequest,
      refusal: Refusal,
      head: { number: bigint; timestamp: number },
    ): Promise<Transfer | Refusal> {
      if (arrivedMaxAgeSeconds === 0) return refusal
      const { network, payment, terms } = request
      const since = earliestArrival(now(), head, arrivedMaxAgeSeconds)
      const transfer = await network.chain.payments.findTransfer({
        payment,
        terms,
        minBlock: head.number,
        since,
      })
      if (transfer && transfer.time >= since) return transfer
      const unmade = transfer ? tooOld(arrivedMaxAgeSeconds) : refusal
      const mayBeUnspent = !transfer && !refusal.isSpent && dependsOnState(refusal.reason)
      await rememberUnmade(request, unmade, { mayBeUnspent })
      return unmade
    },

    /** Refuses the payment if we would pay its network fee and the client has used up its share, or payers have wasted it. */
    async checkFees({ network, payment }: PaymentRequest, caller: Caller): Promise<Refusal | undefined> {
      const findRefusal = async (cost: bigint) =>
        (await feeBudget.check(network, caller)) ??
        (payment.transaction || payment.countersigned
          ? await feeBudget.checkGrant(network, caller, {
              payer: payment.payer,
              isGrant: payment.countersigned === undefined,
              cost,
            })
          : undefined)
      if (payment.countersigned) return findRefusal(payment.countersigned.fee)
      // Only a refusal is worth asking the chain whether we would pay.
      const refusal = await findRefusal(0n)
      if (!refusal || !payment.transaction) return refusal
      const sponsorship = await network.chain.payments.sponsorship?.(payment)
      return sponsorship && sponsorship.fee > 0n && !sponsorship.isReady
        ? findRefusal(sponsorship.fee)
        : undefined
    },

    /** Caches a spent nonce: for good once no reorg can free it, otherwise for seconds. */
    async rememberSpent(
      request: PaymentRequest,
      refusal: Refusal,
      { wasSent }: { wasSent: boolean },
    ): Promise<void> {
      const { network, payment, terms } = request
      const isFinal = await falseIfUnavailable(network.chain.payments.isSpentFinally(payment, terms))
      await verificationCache.rememberSpent(request, refusal, { isFinal, wasSent })
    },
  }
}

const tooOld = (seconds: number): Refusal => ({
  reason: 'invalid_transaction_state',
  detail: `the payment was made more than ${seconds} seconds before it was presented`,
})

export const falseIfUnavailable = (result: Promise<boolean>): Promise<boolean> =>
  result.catch((error: unknown) => {
    if (!(error instanceof ChainUnavailable)) throw error
    return false
  })
