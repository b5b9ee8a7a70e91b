import { type Refusal } from '@tollgate/chains'
import { type VerifyResult } from '@tollgate/protocol'
import { traced, type Span } from '@tollgate/service'
import { type Caller } from '../clients/store'
import { type Networks } from '../networks/networks'
import { withNodeSpans } from '../networks/with-node-spans'
import { type PaymentChecks } from './payment-checks'
import { checkAsset, checkRecipient, parsePaymentRequest, type PaymentRequest } from './payment-request'
import { isRefusal } from '../settlement/refusal'
import { invalid, valid } from './responses'
import { type VerificationCache } from './verification-cache'
import { type SettlementRequest, type WrongVersion } from './versions/version'

export type Verify = ReturnType<typeof createVerify>

export function createVerify({
  networks,
  verificationCache,
  checks,
  now,
}: {
  networks: Networks
  verificationCache: VerificationCache
  checks: PaymentChecks
  now: () => Date
}) {
  /** Skips the chain if the payment's nonce is known to be spent. */
  async function findRefusal(request: PaymentRequest, span: Span | undefined): Promise<Refusal | undefined> {
    const spent = await verificationCache.findSpent(request, { wasSent: false })
    if (spent) return spent
    const refusal = await traced(span, 'verify payment', {}, (step) =>
      checks.verifyOnChain({ ...request, network: withNodeSpans(request.network, step) }),
    )
    if (refusal?.isSpent) await checks.rememberSpent(request, refusal, { wasSent: false })
    return refusal
  }

  /** Whether the payment would settle now. Claims nothing. */
  return async function verify(
    settlementRequest: SettlementRequest | WrongVersion,
    caller: Caller,
    span: Span | undefined,
  ): Promise<VerifyResult> {
    const request = await parsePaymentRequest(settlementRequest, networks)
    if (isRefusal(request)) return invalid(request, now())
    const unacceptable = checkRecipient(request, caller) ?? checkAsset(request)
    if (unacceptable) return invalid(unacceptable, now())

    const [forbidden, isCached] = await Promise.all([
      checks.checkAccess(request, caller),
      verificationCache.isVerified(request),
    ])
    if (forbidden) return invalid(forbidden, now())
    const refusal =
      (isCached ? undefined : await findRefusal(request, span)) ?? (await checks.checkFees(request, caller))
    if (refusal) return invalid(refusal, now())
    if (!isCached) await verificationCache.remember(request)
    return valid(request.payment.payer, { cached: isCached, at: now() })
  }
}
