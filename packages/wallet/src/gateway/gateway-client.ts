import * as v from 'valibot'
import { TollgateError } from '../errors.js'
import { parseAnswer, type Http, type Send } from '../http.js'
import { parsePaymentRequired, timeOf, type PaymentRequired } from '../payments/payment-required.js'
import {
  AccessKey,
  CreatedAccessKey,
  CreditBalance,
  Nonce,
  pageOf,
  PaymentRecord,
  Plan,
  Provider,
  PurchaseAnswer,
  Refusal,
  SessionTokens,
  UsageRecord,
  type NewAccessKey,
} from './wire.js'

export type Login = {
  message: string
  signature: string
  address: string
  auth_method: 'siwe' | 'siwc'
  pubkey?: string
  x402_chain_id: string
  x402_ecosystem: string
  pricing_plan_id: number
}

export type PageQuery = { limit?: number; before?: string | number }

/** What became of a payment that was sent. `pending`: it may still be settled. */
export type PurchaseOutcome =
  | { kind: 'bought'; credits: number; transaction: string }
  | { kind: 'payment-required'; required: PaymentRequired; message: string }
  | { kind: 'pending'; retryAfterMs: number | undefined; cause: unknown }
  | { kind: 'disputed'; message: string }
  | { kind: 'session-ended' }

export type GatewayClient = ReturnType<typeof createGatewayClient>

/** The gateway's interface, one function for each operation. @throws TollgateError GATEWAY_ERROR with its refusal */
export function createGatewayClient(url: string, http: Http, now: () => number) {
  const read = async <Schema extends v.GenericSchema>(schema: Schema, path: string, send: Send = {}) => {
    const answer = await http.send(`${url}${path}`, send)
    const body = await http.readJson(answer, { signal: send.signal })
    if (!answer.ok) throw refusalOf(answer, body)
    return parseAnswer(schema, body)
  }
  const withToken = (token: string) => ({ authorization: `Bearer ${token}` })
  const post = (body: unknown, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

  return {
    url,
    plans: (signal?: AbortSignal) => read(v.array(Plan), '/pricing', { signal }),
    providers: async (signal?: AbortSignal) =>
      (await read(v.looseObject({ data: v.array(Provider) }), '/providers', { signal })).data,
    nonce: (address: string, signal?: AbortSignal) =>
      read(Nonce, `/auth/nonce?address=${encodeURIComponent(address)}`, { signal }),
    login: (login: Login) => read(SessionTokens, '/auth/login', post(login)),
    refresh: (refreshToken: string) =>
      read(SessionTokens, '/auth/refresh', post({ refresh_token: refreshToken })),
    logout: (token: string) =>
      read(v.unknown(), '/auth/logout', { method: 'POST', headers: withToken(token) }),
    credits: (wallet: string, signal?: AbortSignal) =>
      read(v.array(CreditBalance), `/credits/${encodeURIComponent(wallet)}`, { signal }),
    history: (wallet: string, page: PageQuery) =>
      read(pageOf(UsageRecord), `/history/${encodeURIComponent(wallet)}${queryOf(page)}`),
    payments: (wallet: string, page: PageQuery) =>
      read(pageOf(PaymentRecord), `/payments/${encodeURIComponent(wallet)}${queryOf(page)}`),
    keys: {
      list: async (token: string) =>
        (await read(v.looseObject({ data: v.array(AccessKey) }), '/keys', { headers: withToken(token) }))
          .data,
      create: (token: string, key: NewAccessKey) =>
        read(CreatedAccessKey, '/keys', post(key, withToken(token))),
      delete: (token: string, id: string) =>
        read(v.unknown(), `/keys/${encodeURIComponent(id)}`, { method: 'DELETE', headers: withToken(token) }),
    },

    /** Asks for the price without `payment`, and has a payment settled and credited. Safe to repeat with the same payment. */
    async purchase(
      token: string,
      { payment, signal }: { payment?: Record<string, string> | undefined; signal: AbortSignal | undefined },
    ): Promise<PurchaseOutcome> {
      const headers = { ...withToken(token), ...payment }
      const answer = await http.send(`${url}/credits`, { method: 'POST', headers, signal })
      const receivedAt = now()
      const body = await http.readJson(answer, { signal })
      if (answer.ok) {
        const { credits, transaction } = parseAnswer(PurchaseAnswer, body)
        return { kind: 'bought', credits, transaction }
      }
      return outcomeOf(answer, body, receivedAt)
    },
  }
}

function outcomeOf(answer: Response, body: unknown, receivedAt: number): PurchaseOutcome {
  const refusal = refusalOf(answer, body)
  const { message, details } = refusal
  if (isSessionEnd(refusal)) return { kind: 'session-ended' }
  // Another 409 may be of a proxy.
  if (details['code'] === 'PAYMENT_DISPUTED') return { kind: 'disputed', message }
  if (answer.status === 402) {
    const required = parsePaymentRequired(answer, body, receivedAt)
    if (required) return { kind: 'payment-required', required, message }
  }
  if (answer.status >= 500 || answer.status === 429)
    return { kind: 'pending', retryAfterMs: retryAfterMs(answer), cause: refusal }
  throw refusal
}

/** A refusal of the gateway as an error. */
export function refusalOf(answer: Response, body: unknown): TollgateError {
  const parsed = v.safeParse(Refusal, body)
  const code = parsed.success ? parsed.output.code : undefined
  const message = parsed.success ? parsed.output.message : `The gateway answered ${answer.status}`
  return new TollgateError('GATEWAY_ERROR', message, {
    details: {
      status: answer.status,
      code,
      retryAfterMs: retryAfterMs(answer),
      serverTime: timeOf(answer.headers),
    },
  })
}

const SHORTEST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000

const SESSION_CODES: readonly unknown[] = ['EXPIRED_TOKEN', 'INVALID_TOKEN', 'REVOKED_TOKEN']

/** Whether another token could make the request succeed. */
export const isSessionEnd = (error: unknown): boolean =>
  error instanceof TollgateError && SESSION_CODES.includes(error.details['code'])

/** Of `Retry-After`, within what a client may wait. */
export function retryAfterMs(answer: Response): number | undefined {
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(Math.max(seconds * 1000, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)
    : undefined
}

function queryOf({ limit, before }: PageQuery): string {
  const query = new URLSearchParams()
  if (limit !== undefined) query.set('limit', String(limit))
  if (before !== undefined) query.set('before', String(before))
  return query.size === 0 ? '' : `?${query}`
}
