import { type PaymentRequired, type PaymentRequiredV2, type RpcRequest } from '@tollgate/protocol'
import { ApiError, endOfTurn, type Budget, type Logger } from '@tollgate/service'
import { type Charge } from '../accounts/call-charges'
import { type Ledger, type SpendResult } from '../accounts/ledger'
import { revokedToken, type Session, type Sessions } from '../auth/sessions'
import { type Catalog, type Plan, type Provider, type Route } from '../catalog/catalog'
import { type Supported } from '../catalog/supported'
import {
  disputedPayment,
  facilitatorBusy,
  pendingPayment,
  type BuyCredits,
  type Buyer,
  type Purchase,
} from '../payments/buy-credits'
import { type PaymentHeader } from '../payments/payment-header'
import { assertPlanActive, paymentRequired, paymentRequiredV2 } from '../payments/requirements'
import { type PaymentStore } from '../payments/store'
import { costOf, type Bill } from './bill'
import { createCallRecord } from './call-record'
import { createCallsInFlight } from './calls-in-flight'
import { assertServed } from './not-served'
import { countUnknownMethods } from './unknown-methods'
import { type Forward, type Forwarded } from './upstream/forward'
import { type Answer, type Caller } from './upstream/upstream-exchange'
import { type UpstreamRequest } from './upstream/upstream-request'

type Dependencies = {
  catalog: Catalog
  sessions: Sessions
  buyCredits: BuyCredits
  findFeePayer: Supported['findFeePayer']
  payments: Pick<PaymentStore, 'getWalletStatus'>
  ledger: Ledger
  forward: Forward
  /** Calls of a wallet that may time out at upstreams without being charged. */
  freeTimeouts: Budget
  /** Entries of a wallet's calls that a node may not know without being charged. */
  freeUnknownMethods: Budget
  resource: string
  logger: Logger
}

export type CallRequest = {
  call: Call
  bill: Bill
  outgoing: UpstreamRequest
  session: Session
  buyer: () => Buyer
  parsePayment: () => PaymentHeader | undefined
}
type Call = Pick<RpcRequest, 'ecosystem' | 'transport' | 'method' | 'resource'> & {
  chainId: string
  rpcMethod: string | null
}

export type CallResponse = Caller & {
  setHeaders: (headers: Record<string, string>) => void
  requirePayment: (body: PaymentRequired, offer: PaymentRequiredV2) => void
  releaseRequestBody: () => void
  /** Writes the first byte synchronously. `cut_off`: the upstream broke off a streamed answer. */
  send: (answer: Answer) => Promise<'sent' | 'cut_off'>
}

type Paid = Extract<SpendResult, { outcome: 'paid' }>

export type PaidCall = ReturnType<typeof createPaidCall>

export function createPaidCall(dependencies: Dependencies) {
  const { catalog, ledger } = dependencies
  const inFlight = createCallsInFlight()

  return async (request: CallRequest, response: CallResponse): Promise<void> => {
    const { wallet } = request.session
    inFlight.enter(wallet)
    try {
      await payAndServe(request, response)
    } finally {
      inFlight.leave(wallet)
    }
  }

  async function payAndServe(request: CallRequest, response: CallResponse): Promise<void> {
    const { call, bill, session } = request
    const plan = (await catalog.readPlans()).find(session.planId)
    if (!plan) throw planIsGone()
    const route = (await catalog.readProviders()).findRoute(call.ecosystem, call.chainId, call.transport)
    if (!route) throw noRoute(call)
    assertServed(bill, call.transport, route.provider)
    const cost = costOf(bill, route.provider.methods)
    const payment = request.parsePayment()

    let purchase: Purchase | undefined
    if (payment) {
      await dependencies.sessions.assertSessionActive(session)
      await assertPaymentCovers(ledger, session, plan, cost)
      purchase = await dependencies.buyCredits(request.buyer(), plan, payment)
      response.setHeaders(purchase.receipt)
    }

    const charge = chargeOf(call, session, plan, route.provider, cost)
    let spent = await ledger.spend(charge)
    if (spent.outcome === 'insufficient') spent = await confirmShortage(dependencies, charge)
    if (spent.outcome === 'revoked') throw revokedToken()
    if (spent.outcome === 'paid') await serve(dependencies, request, response, { route, cost, spent })
    else await requirePayment(dependencies, response, { plan, cost, remaining: spent.remaining, purchase })
  }
}

const planIsGone = () =>
  new ApiError('NOT_FOUND', 'The plan of this session no longer exists; sign in on another one')

const noRoute = ({ transport }: Call) =>
  new ApiError('NOT_FOUND', `No provider serves ${transport} on that chain; see GET /providers`)

async function assertPaymentCovers(ledger: Ledger, { wallet }: Session, plan: Plan, cost: number) {
  if (cost <= plan.credits) return
  const balance = (await ledger.getBalances(wallet)).find(({ planId }) => planId === plan.id)?.balance ?? 0n
  if (BigInt(cost) > balance + BigInt(plan.credits))
    throw new ApiError(
      'INVALID_REQUEST',
      `This call costs ${cost} credits, ${balance} are left and one payment buys ${plan.credits}; nothing was charged, so send smaller batches`,
    )
}

const chargeOf = (
  call: Call,
  { id: sessionId, wallet }: Session,
  { id: planId }: Plan,
  { key: providerId }: Provider,
  cost: number,
): Charge => ({
  sessionId,
  wallet,
  planId,
  cost,
  providerId,
  ecosystem: call.ecosystem,
  chainId: call.chainId,
  transport: call.transport,
  method: call.method,
  resource: call.resource,
  rpcMethod: call.rpcMethod,
})

/**
 * Returns `insufficient` only if it is safe to ask for a payment: a client pays on every 402. Otherwise the call is paid after all.
 *
 * @throws ApiError PAYMENT_PENDING while an earlier payment may still settle, PAYMENT_DISPUTED while an operator must decide
 */
async function confirmShortage(
  { ledger, payments }: Pick<Dependencies, 'ledger' | 'payments'>,
  charge: Charge,
) {
  for (;;) {
    const { isPaying, disputed, balance } = await payments.getWalletStatus(charge.wallet, charge.planId)
    if (isPaying) throw pendingPayment()
    if (balance < BigInt(charge.cost) && disputed !== null) throw disputedPayment(disputed)
    if (balance < BigInt(charge.cost)) return { outcome: 'insufficient', remaining: balance } as const
    const spent = await ledger.spend(charge)
    if (spent.outcome !== 'insufficient') return spent
  }
}

async function requirePayment(
  { findFeePayer, resource }: Dependencies,
  response: CallResponse,
  shortage: { plan: Plan; cost: number; remaining: bigint; purchase: Purchase | undefined },
) {
  const { plan, cost, remaining, purchase } = shortage
  if (purchase?.outcome === 'disputed') throw disputedPayment(purchase.id)
  assertPlanActive(plan)
  const refused = purchase?.outcome === 'refused' ? purchase : undefined
  const refusal = refused?.reason
  if (refusal === 'fee_allowance_exceeded') throw facilitatorBusy()
  const shortfall = { cost, remaining, refusal, detail: refused?.detail }
  const offer = paymentRequiredV2(plan, resource, { refusal, feePayer: await findFeePayer(plan) })
  response.requirePayment(paymentRequired(plan, resource, shortfall), offer)
}

async function serve(
  dependencies: Dependencies,
  { outgoing, session: { wallet } }: CallRequest,
  response: CallResponse,
  { route, cost, spent }: { route: Route; cost: number; spent: Paid },
) {
  const record = createCallRecord(dependencies, spent.usageId)
  const client = { caller: response, wallet }
  const forwarded = await dependencies
    .forward(outgoing, route.endpoints, client)
    .catch(async (error: unknown) => {
      await record.end('refunded', null, 'defect')
      throw error
    })
  // The upstream has read the body: a client that reads its answer slowly must not keep that memory in use.
  response.releaseRequestBody()

  const charged = { 'X-Credits-Charged': String(cost), 'X-Credits-Remaining': spent.remaining.toString() }
  if (forwarded.outcome === 'failed') {
    const isFree = !forwarded.isTimeout || (await dependencies.freeTimeouts(wallet).catch(() => true))
    if (!isFree) response.setHeaders(charged)
    return fail(record, isFree)
  }
  if (forwarded.outcome === 'abandoned') return endAbandoned(record, forwarded)

  const { answer } = forwarded
  const unknown = outgoing.transport === 'rpc' ? countUnknownMethods(answer) : 0
  if (unknown > 0 && (await dependencies.freeUnknownMethods(wallet, unknown).catch(() => true)))
    return sendRefunded(record, response, answer, spent.remaining + BigInt(cost))
  // The answers of a turn are written one after the other, which wakes the process that reads them once.
  await endOfTurn()
  const mayConfirmLater = !answer.rest && dependencies.ledger.hasLease(spent.usageId)
  await sendAnswer(record, response, { answer, charged, mayConfirmLater })
}

type CallRecord = ReturnType<typeof createCallRecord>

/** `mayConfirmLater`: the lease is held now, so no await may precede the first byte. A streamed answer can outlast the lease. */
async function sendAnswer(
  record: CallRecord,
  response: CallResponse,
  parts: { answer: Answer; charged: Record<string, string>; mayConfirmLater: boolean },
) {
  const { answer, charged, mayConfirmLater } = parts
  if (mayConfirmLater) void record.end('done', answer.status, 'answered')
  else await record.confirm(answer)
  response.setHeaders(charged)
  if ((await response.send(answer)) === 'cut_off') await record.markCutOff()
}

/** Refunds before it answers, so that the credits of the answer's headers can be spent. */
async function sendRefunded(record: CallRecord, response: CallResponse, answer: Answer, remaining: bigint) {
  await record.end('refunded', answer.status, 'method_not_found')
  response.setHeaders({ 'X-Credits-Charged': '0', 'X-Credits-Remaining': remaining.toString() })
  await response.send(answer)
}

async function fail(record: CallRecord, isFree: boolean): Promise<never> {
  if (isFree) {
    await record.end('refunded', null, 'upstream_failed')
    throw new ApiError('UPSTREAM_FAILED', 'No upstream answered; the credits are given back, so try again')
  }
  await record.end('done', null, 'upstream_timeout')
  throw new ApiError('UPSTREAM_FAILED', TOO_MANY_TIMEOUTS)
}

/** A call that an upstream may have executed stays charged, or clients could disconnect to call for free. */
const endAbandoned = (record: CallRecord, { wasSent }: Extract<Forwarded, { outcome: 'abandoned' }>) =>
  record.end(wasSent ? 'done' : 'refunded', null, 'caller_left')

const TOO_MANY_TIMEOUTS =
  'No upstream answered in time, and too many calls of this wallet timed out within a minute, so this one was charged; wait a minute, or send smaller calls'
