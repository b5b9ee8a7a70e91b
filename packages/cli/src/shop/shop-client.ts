import { type WalletStorage } from '@tollgate/wallet'
import * as z from 'zod'
import { CommandError, EXIT } from '../exit-codes'

const TIMEOUT_MS = 30_000

const Session = z.object({ email: z.string(), accessToken: z.string(), refreshToken: z.string() })
type Session = z.infer<typeof Session>

const Login = z.object({
  data: z.object({ access_token: z.string(), refresh_token: z.string(), id: z.number() }),
})
const Refreshed = z.object({ data: z.object({ access_token: z.string() }) })
const User = z.object({
  data: z.object({ user: z.object({ id: z.number(), email: z.string(), createdAt: z.string() }) }),
})
const ClientKey = z.object({
  clientId: z.string(),
  title: z.string(),
  scope: z.string(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
})
export type ClientKey = z.infer<typeof ClientKey>
const CreatedKey = z.object({
  data: z.object({ client: z.looseObject({ ...ClientKey.shape, token: z.string() }) }),
})
const Keys = z.object({ data: z.array(z.looseObject(ClientKey.shape)) })

const Amount = z.looseObject({
  symbol: z.string(),
  decimals: z.number(),
  amount: z.string(),
  network: z.string(),
})
const period = { day: z.string().optional(), month: z.string().optional() }
const Settlements = z.looseObject({
  ...period,
  settled: z.number(),
  failed: z.number(),
  reversed: z.number(),
  amounts: z.array(Amount),
  fees: z.array(z.looseObject({ network: z.string(), amount: z.string() })),
  failures: z.array(z.looseObject({ reason: z.string(), failed: z.number() })),
})
export type Settlements = z.infer<typeof Settlements>
const Requests = z.looseObject({
  ...period,
  requests: z.number(),
  latency_ms: z.looseObject({ p50: z.number().nullable(), p99: z.number().nullable() }).nullable(),
  routes: z.array(z.looseObject({ method: z.string(), route: z.string(), requests: z.number() })),
  statuses: z.array(z.looseObject({ status: z.number(), requests: z.number() })),
})
export type Requests = z.infer<typeof Requests>

/** Days, months, or all time as one entry. */
export type Range = { by: 'day' | 'month' | 'all'; from?: string; to?: string }
const intervals = { day: 'daily', month: 'monthly', all: 'summary' } as const

export type NewClientKey = {
  title: string
  scope?: string
  ttl_hours?: number
  pay_to?: string[]
  max_fees_per_day?: string
  max_payments_per_minute?: number
}

/**
 * A merchant at the facilitator. The session is kept in the storage, and its access token is renewed.
 *
 * @throws CommandError
 */
export function createShopClient({ url, storage }: { url: string; storage: WalletStorage }) {
  const api = apiOf(url)
  const sessionKey = `shop/${rootOf(url).replaceAll(/[^A-Za-z0-9.:_-]/g, '_')}`

  async function send(
    method: string,
    path: string,
    { body, token }: { body?: unknown; token?: string } = {},
  ) {
    const response = await request(`${api}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, isOk: response.ok, body: await readJson(response) }
  }

  async function read<Schema extends z.ZodType>(schema: Schema, ...request: Parameters<typeof send>) {
    const answer = await send(...request)
    if (!answer.isOk) throw refusalOf(answer)
    return parse(schema, answer.body)
  }

  async function openSession(): Promise<Session> {
    const text = await storage.get(sessionKey)
    const parsed = Session.safeParse(JSON.parse(text ?? 'null'))
    if (parsed.success) return parsed.data
    throw new CommandError(
      'NOT_LOGGED_IN',
      `You are not logged in at ${url}`,
      'Log in with `tollgate shop login --email …`.',
      EXIT.FAILED,
    )
  }

  async function renew(session: Session): Promise<Session> {
    const answer = await send('POST', '/token/refresh', { body: { refresh_token: session.refreshToken } })
    if (answer.status === 401)
      throw new CommandError(
        'NOT_LOGGED_IN',
        'Your login has expired',
        'Log in again with `tollgate shop login --email …`.',
        EXIT.FAILED,
      )
    if (!answer.isOk) throw refusalOf(answer)
    const renewed = { ...session, accessToken: parse(Refreshed, answer.body).data.access_token }
    await storage.set(sessionKey, JSON.stringify(renewed))
    return renewed
  }

  /** Repeated once with a new access token. */
  async function inSession<Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    path: string,
    body?: unknown,
  ) {
    const withBody = body === undefined ? {} : { body }
    const session = await openSession()
    const answer = await send(method, path, { ...withBody, token: session.accessToken })
    if (answer.isOk) return parse(schema, answer.body)
    if (answer.status !== 401) throw refusalOf(answer)
    const { accessToken } = await renew(session)
    return read(schema, method, path, { ...withBody, token: accessToken })
  }

  const overTime = async <Schema extends z.ZodType>(
    schema: Schema,
    area: string,
    { by, from, to }: Range,
  ) => {
    const query = new URLSearchParams({ ...(from ? { from } : {}), ...(to ? { to } : {}) })
    const path = `/${area}/${intervals[by]}${query.size > 0 ? `?${query.toString()}` : ''}`
    const { data } = await inSession(z.object({ data: z.unknown() }), 'GET', path)
    return parse(z.array(schema), Array.isArray(data) ? data : [data])
  }

  return {
    signUp: async (account: { email: string; password: string; invitation?: string }) =>
      (await read(User, 'POST', '/signup', { body: account })).data.user,
    async logIn({ email, password }: { email: string; password: string }): Promise<{ id: number }> {
      const { data } = await read(Login, 'POST', '/login', { body: { email, password } })
      const session: Session = { email, accessToken: data.access_token, refreshToken: data.refresh_token }
      await storage.set(sessionKey, JSON.stringify(session))
      return { id: data.id }
    },
    logOut: () => storage.delete(sessionKey),
    listKeys: async ({ offset, limit }: { offset: number; limit: number }) =>
      (await inSession(Keys, 'GET', `/clients?offset=${offset}&limit=${limit}`)).data,
    createKey: async (key: NewClientKey) =>
      (await inSession(CreatedKey, 'POST', '/clients', key)).data.client,
    deleteKey: async (id: string) => {
      await inSession(z.unknown(), 'DELETE', `/clients/${encodeURIComponent(id)}`)
    },
    settlements: (range: Range) => overTime(Settlements, 'x402-metrics', range),
    requests: (range: Range) => overTime(Requests, 'metrics', range),
  }
}

/** `npm start` prints the URL with the path of the API. */
const rootOf = (url: string): string => `${url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/`

export const apiOf = (url: string): string => `${rootOf(url)}api/v1`

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch {
    throw unreachable(url)
  }
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text().catch(() => {
    throw unreachable(response.url)
  })
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const unreachable = (url: string) =>
  new CommandError(
    'UNREACHABLE',
    `${new URL(url).origin} cannot be reached`,
    'Check --facilitator and the network.',
    EXIT.UNREACHABLE,
  )

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  throw new CommandError(
    'FACILITATOR_ERROR',
    'The answer is none that this version knows',
    'Is this the URL of a Tollgate facilitator?',
    EXIT.FAILED,
  )
}

const Refusal = z.object({
  code: z.string().optional(),
  message: z.string(),
  details: z.unknown().optional(),
})

export function refusalOf({ status, body }: { status: number; body: unknown }): CommandError {
  const { data } = Refusal.safeParse(body)
  const details = typeof data?.details === 'string' ? data.details : ''
  const message = (data?.message ?? `The facilitator answered ${status}`).replace(
    'GET /api/v1/clients lists',
    '`tollgate shop keys list` lists',
  )
  return new CommandError(
    data?.code ?? 'FACILITATOR_ERROR',
    message,
    details,
    status === 400 || status === 422 ? EXIT.USAGE : EXIT.FAILED,
  )
}
