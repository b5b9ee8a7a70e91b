import { ChainUnavailable, type Refusal } from '@tollgate/chains'
import { type Caller } from '../clients/store'
import { type FeeBudget } from '../settlement/signing/fee-budget'
import { type PaymentAccess } from './payment-access'
import { type PaymentRequest } from './payment-request'
import { type VerificationCache } from './verification-cache'

export type PaymentChecks = ReturnType<typeof createPaymentChecks>

/** The checks that `/verify` and `/settle` share. They reject with `ChainUnavailable` if the network does not answer. */
export function createPaymentChecks({
  verificationCache,
  feeBudget,
  checkAccess,
  now,
}: {
  verificationCache: VerificationCache
  feeBudget: FeeBudget
  checkAccess: PaymentAccess
  now: () => Date
}) {
  return {
    checkAccess,

    verifyOnChain: ({ network, payment, terms }: PaymentRequest): Promise<Refusal | undefined> =>
      network.chain.payments.verify({ payment, terms, now: now() }),

    /** Refuses the payment if we would pay its network fee and the client has used up its share, or payers have wasted it. */
    async checkFees({ network, payment }: PaymentRequest, caller: Caller): Promise<Refusal | undefined> {
      const findRefusal = async (cost: bigint) =>
        (await feeBudget.check(network, caller)) ??
        (payment.transaction && (await feeBudget.checkGrant(network, caller, { payer: payment.payer, cost })))
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

export const falseIfUnavailable = (result: Promise<boolean>): Promise<boolean> =>
  result.catch((error: unknown) => {
    if (!(error instanceof ChainUnavailable)) throw error
    return false
  })
