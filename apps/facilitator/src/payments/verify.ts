import { type Refusal } from '@tollgate/chains'
import { type VerifyResult } from '@tollgate/protocol'
import { traced, type Span } from '@tollgate/service'
import { type Caller } from '../clients/store'
import { type Networks } from '../networks/networks'
import { withNodeSpans } from '../networks/with-node-spans'
import { isMismatched } from '../settlement/status'
import { type Access } from './payment-access'
import { type PaymentChecks } from './payment-checks'
import { checkAsset, checkRecipient, parsePaymentRequest, type PaymentRequest } from './payment-request'
import { isRefusal } from '../settlement/refusal'
import { invalid, valid } from './responses'
import { type SettlementStore } from './store'
import { type VerificationCache } from './verification-cache'
import { type SettlementRequest, type WrongVersion } from './versions/version'

export type Verify = ReturnType<typeof createVerify>

export function createVerify({
  networks,
  verificationCache,
  checks,
  store,
  now,
}: {
  networks: Networks
  verificationCache: VerificationCache
  checks: PaymentChecks
  store: Pick<SettlementStore, 'find'>
  now: () => Date
}) {
  /** Skips the chain if the payment's nonce is known to be spent. */
  async function findRefusal(request: PaymentRequest): Promise<Refusal | undefined> {
    const spent = await verificationCache.findSpent(request, { wasSent: false })
    if (spent) return spent
    const refusal = await checks.verifyOnChain(request)
    if (refusal?.isSpent) await checks.rememberSpent(request, refusal, { wasSent: false })
    return refusal
  }

  /** A transfer that has arrived counts for a while, and once: only that there is none is cached. */
  async function findRefusalOfOwn(request: PaymentRequest): Promise<Refusal | 'arrived' | undefined> {
    const unmade = await verificationCache.findUnmade(request)
    if (unmade) return unmade
    const refusal = await checks.verifyOnChain(request)
    if (!refusal) return undefined
    const claimed = await store.find(request)
    if (claimed && (claimed.status !== 'failed' || isMismatched(claimed))) return refusal
    const arrival = await checks.findArrival(request, refusal, await request.network.chain.node.head())
    return isRefusal(arrival) ? arrival : 'arrived'
  }

  const findAnyRefusal = (request: PaymentRequest, { isOwnRecipient }: Access, span: Span | undefined) =>
    traced(span, 'verify payment', {}, (step) => {
      const observed = { ...request, network: withNodeSpans(request.network, step) }
      return isOwnRecipient ? findRefusalOfOwn(observed) : findRefusal(observed)
    })

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

    const [access, isCached] = await Promise.all([
      checks.checkAccess(request, caller),
      verificationCache.isVerified(request),
    ])
    if (access.refusal) return invalid(access.refusal, now())
    const found = isCached ? undefined : await findAnyRefusal(request, access, span)
    // It needs no transaction of ours, and so no fee.
    if (found === 'arrived') return valid(request.payment.payer, { cached: false, at: now() })
    const refusal = found ?? (await checks.checkFees(request, caller))
    if (refusal) return invalid(refusal, now())
    if (!isCached) await verificationCache.remember(request)
    return valid(request.payment.payer, { cached: isCached, at: now() })
  }
}
