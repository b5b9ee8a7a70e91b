import { RpcRequest } from '@tollgate/protocol'
import { ApiError, parse, rawMember, type Logger } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { pipeline } from 'node:stream/promises'
import { type Charge, type Ending, type Ledger } from '../accounts/ledger'
import { revokedToken, type Session, type Sessions } from '../auth/sessions'
import { type Catalog, type Plan, type Provider } from '../catalog/catalog'
import { readProof } from '../payments/proof'
import { pendingPayment, type BuyCredits, type Purchase } from '../payments/buy-credits'
import { mustBeSold, paymentRequired } from '../payments/requirements'
import { type PaymentStore } from '../payments/store'
import { type Answer } from './exchange'
import { type Forward } from './forward'
import { checkPayload, costOf, methodsOf } from './methods'
import { type Outgoing } from './outgoing'
import { checkResource } from './resource'

type Parts = {
  catalog: Catalog
  sessions: Sessions
  buyCredits: BuyCredits
  payments: Pick<PaymentStore, 'standing'>
  ledger: Ledger
  forward: Forward
  /** The absolute URL of the paid endpoint. */
  resource: string
  logger: Logger
}

/** Of all payloads under way together, in characters: what upstreams that hang can make this process hold. */
const MAX_BODIES_LENGTH = 134_217_728

export type PaidCall = ReturnType<typeof createPaidCall>

/** One paid call: find where it goes, buy if a payment is attached, spend, forward, and give back what was not served. */
export function createPaidCall(parts: Parts) {
  const { catalog, sessions, buyCredits, ledger, forward, resource, logger } = parts
  const bodies = createRoom(MAX_BODIES_LENGTH)

  return async (req: Request, res: Response, session: Session): Promise<void> => {
    const call = parse(RpcRequest, req.body)
    checkResource(call.resource)
    checkPayload(call)
    const plan = await planOf(catalog, session)
    const route = await routeOf(catalog, call)
    const cost = costOf(call, route.methods)
    const outgoing = outgoingOf(req, call)
    const proof = readProof(req)
    bodies.hold(outgoing.payloadText.length, res)

    let purchase: Purchase | undefined
    if (proof) {
      await sessions.mustLive(session)
      await mustSuffice(ledger, session, plan, cost)
      purchase = await buyCredits(session, plan, proof)
      res.set('X-PAYMENT-RESPONSE', purchase.receipt)
    }

    const spent = await spend(parts, chargeOf(call, session, plan, route.provider, cost))
    if (spent.outcome === 'revoked') throw revokedToken()
    if (spent.outcome === 'insufficient') {
      mustBeSold(plan)
      const refusal = purchase?.outcome === 'refused' ? purchase.reason : undefined
      const lack = { cost, remaining: spent.remaining, refusal }
      res
        .status(402)
        .set('Cache-Control', 'no-store')
        .json(paymentRequired(plan, resource, lack))
      return
    }

    const startedAt = performance.now()
    const end = (state: Ending['state'], statusCode: number | null, outcome: string) =>
      ledger.finish({
        usageId: spent.usageId,
        state,
        statusCode,
        outcome,
        latencyMs: Math.round(performance.now() - startedAt),
      })

    const forwarded = await forward(outgoing, route.baseUrls, departureOf(res)).catch(
      async (defect: unknown) => {
        await end('refunded', null, 'defect')
        throw defect
      },
    )
    if (forwarded.outcome === 'failed') {
      await end('refunded', null, 'upstream_failed')
      throw new ApiError('UPSTREAM_FAILED', 'No upstream answered; the credits were given back, so try again')
    }
    if (forwarded.outcome === 'abandoned') {
      // What was sent was carried out, or may have been: whoever leaves in time must not have it for nothing.
      await end(forwarded.wasSent ? 'done' : 'refunded', null, 'caller_left')
      return
    }
    const { answer } = forwarded
    end('done', answer.status, 'answered').catch((cause: unknown) =>
      logger.error('call could not be marked as done', { usage: spent.usageId.toString(), cause }),
    )
    res.set({ 'X-Credits-Charged': String(cost), 'X-Credits-Remaining': spent.remaining.toString() })
    await send(res, answer)
  }
}

/** Room for what is held in memory until its answer is over; @throws ApiError OVERLOADED where there is too little. */
function createRoom(size: number) {
  let held = 0
  return {
    hold(length: number, until: Response) {
      if (held + length > size)
        throw new ApiError('OVERLOADED', 'Too many large calls are under way just now; try again', {
          retryAfterSeconds: 1,
        })
      if (until.closed) return
      held += length
      until.once('close', () => (held -= length))
    },
  }
}

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
 * @throws ApiError PAYMENT_PENDING in the former case
 */
async function spend({ ledger, payments }: Pick<Parts, 'ledger' | 'payments'>, charge: Charge) {
  for (;;) {
    const spent = await ledger.spend(charge)
    if (spent.outcome !== 'insufficient') return spent
    const { isPaying, balance } = await payments.standing(charge.wallet, charge.planId)
    if (isPaying) throw pendingPayment()
    if (balance < BigInt(charge.cost)) return { ...spent, remaining: balance }
  }
}

type Route = { provider: Provider; methods: Provider['methods']; baseUrls: string[] }

/** The providers of the call's chain and their base URLs, in order; the first of them names the call in its usage row. */
async function routeOf(catalog: Catalog, call: RpcRequest): Promise<Route> {
  const serving = (await catalog.providersOf(call.ecosystem, call.chain_id)).filter(
    (candidate) => candidate[call.transport].length > 0,
  )
  const [provider] = serving
  if (!provider)
    throw new ApiError('NOT_FOUND', `No provider serves ${call.transport} on that chain; see GET /providers`)
  return {
    provider,
    methods: provider.methods,
    baseUrls: serving.flatMap((candidate) => candidate[call.transport]),
  }
}

const chargeOf = (
  call: RpcRequest,
  session: Session,
  plan: Plan,
  provider: Provider,
  cost: number,
): Charge => ({
  sessionId: session.id,
  wallet: session.wallet,
  planId: plan.id,
  cost,
  providerId: provider.key,
  ecosystem: call.ecosystem,
  chainId: call.chain_id,
  transport: call.transport,
  method: call.method,
  resource: call.resource,
  rpcMethod: methodsOf(call)[0] ?? null,
})

const outgoingOf = (req: Request, call: RpcRequest): Outgoing => ({
  call,
  payloadText: rawMember(req, 'payload') ?? JSON.stringify(call.payload),
  accept: req.get('accept'),
  acceptEncoding: req.get('accept-encoding'),
})

/** The upstream's answer as it came: status, type, encoding, bytes. */
async function send(res: Response, { status, headers, body, rest }: Answer) {
  res.status(status)
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value)
  if (!rest) {
    if (status !== 204 && status !== 304) res.setHeader('Content-Length', body.length)
    res.end(body)
    return
  }
  res.write(body)
  await pipeline(rest, res).catch(() => res.destroy())
}
