import { FREE_PLAN_ID } from '@tollgate/protocol'
import { traced, type Span } from '@tollgate/service'
import { type Charge } from '../accounts/call-charges'
import { type Ledger, type SpendResult } from '../accounts/ledger'
import { type Route } from '../catalog/catalog'
import { disputedPayment, pendingPayment } from '../payments/payment-errors'
import { type PaymentStore } from '../payments/store'
import { type Call } from './call'

/** What a call costs, in credits, and where it goes. */
export type Price = { route: Route; cost: number }

export const chargeOf = (
  call: Call,
  payer: Pick<Charge, 'authority' | 'wallet' | 'planId'>,
  { route, cost }: Price,
): Charge => ({
  ...payer,
  cost,
  providerId: route.provider.key,
  ecosystem: call.ecosystem,
  chainId: call.chainId,
  transport: call.transport,
  method: call.method,
  resource: call.resource,
  rpcMethod: call.rpcMethod,
})

export const spend = (
  ledger: Pick<Ledger, 'spend'>,
  charge: Charge,
  span: Span | undefined,
): Promise<SpendResult> => (span ? spendTraced(ledger, charge, span) : ledger.spend(charge))

const spendTraced = (ledger: Pick<Ledger, 'spend'>, charge: Charge, span: Span) =>
  traced(span, 'spend credits', { attributes: { 'tollgate.credits': charge.cost } }, async (step) => {
    const spent = await ledger.spend(charge)
    step?.set({ 'tollgate.outcome': spent.outcome })
    return spent
  })

type Shortage = Extract<SpendResult, { outcome: 'insufficient' }>

/**
 * Spends free credits if the plan's do not suffice: in a session only, because an access key may be public. Returns `insufficient` only if
 * it is safe to ask for a payment: a client pays on every 402. Otherwise the call is paid after all.
 *
 * @throws ApiError PAYMENT_PENDING while an earlier payment may still settle, PAYMENT_DISPUTED while an operator must decide
 */
export async function spendOrConfirmShortage(
  { ledger, payments }: { ledger: Ledger; payments: Pick<PaymentStore, 'getWalletStatus'> },
  charge: Charge,
  span: Span | undefined,
): Promise<(Exclude<SpendResult, Shortage> & { isFree?: true }) | (Shortage & { free: bigint | null })> {
  for (;;) {
    const spent = await spend(ledger, charge, span)
    if (spent.outcome !== 'insufficient') return spent
    const { isPaying, disputed, balance, free } = await payments.getWalletStatus(charge.wallet, charge.planId)
    if (charge.authority.kind === 'session' && covers(free, charge)) {
      const given = await spend(ledger, { ...charge, planId: FREE_PLAN_ID }, span)
      if (given.outcome === 'insufficient') continue
      return { ...given, isFree: true }
    }
    if (isPaying) throw pendingPayment()
    if (balance >= BigInt(charge.cost)) continue
    if (disputed !== null) throw disputedPayment(disputed)
    return { outcome: 'insufficient', remaining: balance, free }
  }
}

/** Free calls share the budgets and the places at upstreams of one wallet: wallets and addresses that never paid cost nothing to have. */
export const FREE_CALLERS = 'free calls'

const covers = (balance: bigint | null, { cost }: Charge) => balance !== null && balance >= BigInt(cost)
