import { encodeJson, RpcRequest } from '@tollgate/protocol'
import {
  addressKey,
  ApiError,
  forgetBody,
  parse,
  rawMember,
  releaseBody,
  requestId,
  type Budget,
  type Logger,
} from '@tollgate/service'
import { type Request, type Response } from 'express'
import { pipeline } from 'node:stream/promises'
import { type Charge, type Ending, type Ledger } from '../accounts/ledger'
import { revokedToken, type Session, type Sessions } from '../auth/sessions'
import { type Catalog, type Plan, type Provider } from '../catalog/catalog'
import { type Supported } from '../catalog/supported'
import { readProof } from '../payments/proof'
import {
  disputedPayment,
  facilitatorBusy,
  pendingPayment,
  type BuyCredits,
  type Purchase,
} from '../payments/buy-credits'
import { mustBeSold, paymentRequired, paymentRequiredV2 } from '../payments/requirements'
import { type PaymentStore } from '../payments/store'
import { type Answer } from './exchange'
import { type Forward, type Target } from './forward'
import { billOf, checkPayload, costOf, kindOf, methodsOf, outlineOf } from './methods'
import { type Outgoing } from './outgoing'
import { checkResource } from './resource'

type Parts = {
  catalog: Catalog
  sessions: Sessions
  buyCredits: BuyCredits
  feePayerOf: Supported['feePayerOf']
  payments: Pick<PaymentStore, 'standing'>
  ledger: Ledger
  forward: Forward
  /** The calls of a wallet that may time out at upstreams without being charged. */
  freeTimeouts: Budget
  /** The absolute URL of the paid endpoint. */
  resource: string
  logger: Logger
}

export type PaidCall = ReturnType<typeof createPaidCall>

/** One paid call: find where it goes, buy if a payment is attached, spend, forward, and give back what was not served. */
export function createPaidCall(parts: Parts) {
  const { catalog, sessions, buyCredits, feePayerOf, ledger, forward, resource } = parts

  return async (req: Request, res: Response, session: Session): Promise<void> => {
    const { call, bill, outgoing } = read(req)
    const plan = await planOf(catalog, session)
    const route = await routeOf(catalog, call)
    const cost = costOf(bill, route.methods)
    const proof = readProof(req)

    let purchase: Purchase | undefined
    if (proof) {
      await sessions.mustLive(session)
      await mustSuffice(ledger, session, plan, cost)
      purchase = await buyCredits(
        { session, address: addressKey(req), requestId: requestId(req) },
        plan,
        proof,
      )
      res.set(purchase.receipt)
    }

    const spent = await spend(parts, chargeOf(call, session, plan, route.provider, cost))
    if (spent.outcome === 'revoked') throw revokedToken()
    if (spent.outcome === 'insufficient') {
      if (purchase?.outcome === 'disputed') throw disputedPayment(purchase.id)
      mustBeSold(plan)
      const refused = purchase?.outcome === 'refused' ? purchase : undefined
      const refusal = refused?.reason
      if (refusal === 'fee_allowance_exceeded') throw facilitatorBusy()
      const lack = { cost, remaining: spent.remaining, refusal, detail: refused?.detail }
      const offer = paymentRequiredV2(plan, resource, { refusal, feePayer: await feePayerOf(plan) })
      res
        .status(402)
        .set({ 'Cache-Control': 'no-store', 'PAYMENT-REQUIRED': encodeJson(offer) })
        .json(paymentRequired(plan, resource, lack))
      return
    }

    const { end, confirm } = endingsOf(parts, spent.usageId)
    const caller = { caller: departureOf(res), wallet: session.wallet }
    const forwarded = await forward(outgoing, route.targets, caller).catch(async (defect: unknown) => {
      await end('refunded', null, 'defect')
      throw defect
    })
    // The upstream has taken the body: a caller that does not read its answer keeps no memory from others.
    outgoing.payload = NO_PAYLOAD
    releaseBody(req)
    const charged = { 'X-Credits-Charged': String(cost), 'X-Credits-Remaining': spent.remaining.toString() }
    if (forwarded.outcome === 'failed') {
      if (!forwarded.isTimeout || (await parts.freeTimeouts(session.wallet).catch(() => true))) {
        await end('refunded', null, 'upstream_failed')
        throw new ApiError(
          'UPSTREAM_FAILED',
          'No upstream answered; the credits are given back, so try again',
        )
      }
      await end('done', null, 'upstream_timeout')
      res.set(charged)
      throw new ApiError('UPSTREAM_FAILED', TOO_MANY_TIMEOUTS)
    }
    if (forwarded.outcome === 'abandoned') {
      // What was sent was carried out, or may have been: whoever leaves in time must not have it for nothing.
      await end(forwarded.wasSent ? 'done' : 'refunded', null, 'caller_left')
      return
    }
    const { answer } = forwarded
    // A long answer may take longer than the lease lasts. Nothing is awaited between this check and the first byte.
    if (!answer.rest && ledger.holds(spent.usageId)) void end('done', answer.status, 'answered')
    else await confirm(answer)
    res.set(charged)
    if ((await send(res, answer)) === 'cut_off') await noteCutOff(parts, spent.usageId)
  }
}

const NO_PAYLOAD = Buffer.alloc(0)
/** Of a payload that becomes a query: servers take no longer one, and encoding a megabyte takes a tenth of a second. */
const MAX_QUERY_BYTES = 16_384

const TOO_MANY_TIMEOUTS =
  'No upstream answered in time, and too many calls of this wallet timed out within a minute, so this one was charged; wait a minute, or send smaller calls'

/** The upstream answered and the caller has a part of it, so the call stays charged; its usage row says that it broke. */
async function noteCutOff({ ledger, logger }: Pick<Parts, 'ledger' | 'logger'>, usageId: bigint) {
  const usage = usageId.toString()
  logger.warn('upstream answer cut off', { usage })
  await ledger.noteCutOff(usageId).catch((cause: unknown) => {
    logger.error('the cut of an answer could not be written', { usage, cause })
  })
}

/** How a paid call ends. */
function endingsOf({ ledger, logger }: Pick<Parts, 'ledger' | 'logger'>, usageId: bigint) {
  const startedAt = performance.now()
  const usage = usageId.toString()
  const latencyMs = () => Math.round(performance.now() - startedAt)

  return {
    /** Never rejects: an ending that cannot be written is tried again by the ledger, and the log says so. */
    async end(state: Ending['state'], statusCode: number | null, outcome: string): Promise<void> {
      try {
        if (!(await ledger.finish({ usageId, state, statusCode, outcome, latencyMs: latencyMs() })))
          logger.error('call refunded before its end was written: this replica was taken for dead', {
            usage,
            state,
            outcome,
          })
      } catch (cause) {
        logger.error('the end of a call could not be written yet', { usage, state, outcome, cause })
      }
    },

    /** Charges for a call before it is answered. @throws ApiError UNAVAILABLE where it may have been refunded meanwhile */
    async confirm({ status: statusCode, rest }: Answer): Promise<void> {
      const ending = { usageId, state: 'done', statusCode, outcome: 'answered' } as const
      if (await ledger.confirm({ ...ending, latencyMs: latencyMs() })) return
      rest?.destroy()
      logger.warn('answer withheld: call refunded meanwhile, or its charge not confirmed', { usage })
      throw new ApiError(
        'UNAVAILABLE',
        'This call could not be charged for in time, so its answer is withheld; its credits are given back, so try again',
        { retryAfterSeconds: 2 },
      )
    },
  }
}

/**
 * The call, without its payload: that is there only as the bytes which go upstream, for a body that was parsed can weigh
 * twenty times what was sent, and an upstream may hang.
 */
function read(req: Request) {
  const whole = parse(RpcRequest, outlineOf(req.body))
  const { ecosystem, chain_id, transport, method, resource } = whole
  checkResource(resource)
  checkPayload(whole)
  const payload = Buffer.from(rawMember(req, 'payload') ?? '')
  if (method === 'GET' && payload.length > MAX_QUERY_BYTES)
    throw new ApiError(
      'INVALID_REQUEST',
      `payload: a GET carries at most ${MAX_QUERY_BYTES} bytes; send it by POST`,
    )
  const outgoing: Outgoing = {
    resource,
    method,
    transport,
    kind: kindOf(whole),
    payload,
    accept: req.get('accept'),
    acceptEncoding: req.get('accept-encoding'),
  }
  forgetBody(req)
  const rpcMethod = methodsOf(whole)[0] ?? null
  const call = { ecosystem, chain_id, transport, method, resource, rpcMethod }
  return { call, bill: billOf(whole), outgoing }
}
type Call = ReturnType<typeof read>['call']

/** Aborted when the caller is gone before its answer was. */
function departureOf(res: Response): AbortSignal {
  const departure = new AbortController()
  if (res.closed) departure.abort()
  else
    res.once('close', () => {
      if (!res.writableFinished) departure.abort()
    })
  return departure.signal
}

async function planOf(catalog: Catalog, session: Session): Promise<Plan> {
  const plan = await catalog.plan(session.planId)
  if (!plan) throw new ApiError('NOT_FOUND', 'The plan of this session is gone; sign in on another one')
  return plan
}

/** Nothing is bought for a call that the purchase could not pay. */
async function mustSuffice(ledger: Ledger, { wallet }: Session, plan: Plan, cost: number) {
  if (cost <= plan.credits) return
  const balance = (await ledger.balances(wallet)).find(({ planId }) => planId === plan.id)?.balance ?? 0n
  if (BigInt(cost) > balance + BigInt(plan.credits))
    throw new ApiError(
      'INVALID_REQUEST',
      `This call costs ${cost} credits, ${balance} are left and one payment buys ${plan.credits}; nothing was charged, so send smaller batches`,
    )
}

/**
 * Spends, and says `insufficient` only where the wallet may well pay. Whoever sees a 402 pays: while its last payment may
 * still take its money, or brought its credits just now, it must not see one.
 *
 * @throws ApiError PAYMENT_PENDING in the former case, PAYMENT_DISPUTED while an operator has to decide about a payment
 */
async function spend({ ledger, payments }: Pick<Parts, 'ledger' | 'payments'>, charge: Charge) {
  for (;;) {
    const spent = await ledger.spend(charge)
    if (spent.outcome !== 'insufficient') return spent
    const { isPaying, disputed, balance } = await payments.standing(charge.wallet, charge.planId)
    if (isPaying) throw pendingPayment()
    if (balance < BigInt(charge.cost) && disputed !== null) throw disputedPayment(disputed)
    if (balance < BigInt(charge.cost)) return { ...spent, remaining: balance }
  }
}

type Route = { provider: Provider; methods: Provider['methods']; targets: Target[] }

/** The providers of the call's chain and their base URLs, in order; the first of them names the call in its usage row. */
async function routeOf(catalog: Catalog, call: Call): Promise<Route> {
  const serving = (await catalog.providersOf(call.ecosystem, call.chain_id)).filter(
    (candidate) => candidate[call.transport].length > 0,
  )
  const [provider] = serving
  if (!provider)
    throw new ApiError('NOT_FOUND', `No provider serves ${call.transport} on that chain; see GET /providers`)
  return {
    provider,
    methods: provider.methods,
    targets: serving.flatMap((candidate) =>
      candidate[call.transport].map((baseUrl) => ({ provider: candidate.key, baseUrl })),
    ),
  }
}

const chargeOf = (
  { ecosystem, chain_id: chainId, transport, method, resource, rpcMethod }: Call,
  { id: sessionId, wallet }: Session,
  plan: Plan,
  provider: Provider,
  cost: number,
): Charge => ({
  sessionId,
  wallet,
  planId: plan.id,
  cost,
  providerId: provider.key,
  ecosystem,
  chainId,
  transport,
  method,
  resource,
  rpcMethod,
})

/**
 * The upstream's answer as it came: status, type, encoding, bytes. Of a streamed one, whether it was `cut_off` by its upstream:
 * then the connection to the caller is cut as well, so that it cannot take a part for the whole.
 */
async function send(res: Response, { status, headers, body, rest }: Answer): Promise<'sent' | 'cut_off'> {
  res.status(status)
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value)
  if (!rest) {
    if (status !== 204 && status !== 304) res.setHeader('Content-Length', body.length)
    res.end(body)
    return 'sent'
  }
  let isCutOff = rest.errored !== null && !res.closed
  // Where the caller leaves, its side closes first, and the stream fails only in consequence.
  rest.once('error', () => (isCutOff = !res.closed))
  res.write(body)
  await pipeline(rest, res).catch(() => res.destroy())
  return isCutOff ? 'cut_off' : 'sent'
}
