import { hash, randomBytes } from 'node:crypto'
import { type Request, type RequestHandler, type Response } from 'express'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { type EphemeralStore } from './ephemeral'
import { ApiError } from './errors'
import { type Logger } from './logger'
import { createPointsInAdvance, type LimitState } from './points-in-advance'

export type LimiterOptions = {
  store: EphemeralStore
  /** Also the policy's name in the headers. Limiters with the same name share their counts. */
  name: string
  points: number
  durationSeconds: number
  logger: Logger
}

const MAX_KEY_LENGTH = 128

/**
 * Counts in Redis, for all replicas, and takes points for a busy key in advance; while Redis is unavailable each replica counts
 * for itself.
 */
function createCounter({ store, name, points, durationSeconds, logger }: LimiterOptions) {
  const local = new RateLimiterMemory({ keyPrefix: name, points, duration: durationSeconds })
  const shared =
    store.redis &&
    new RateLimiterRedis({
      storeClient: store.redis,
      rejectIfRedisNotReady: true,
      // Refuses a key over its limit locally until its window ends, so that a flood does not reach Redis.
      inMemoryBlockOnConsumed: points + 1,
      keyPrefix: `limit:${name}`,
      points,
      duration: durationSeconds,
    })
  const inAdvance =
    shared &&
    createPointsInAdvance(
      (key, cost) => shared.consume(key, cost),
      () => performance.now(),
    )
  const slotOf = createSlots()
  let isLocal = false

  async function consume(key: string, cost: number): Promise<LimitState> {
    if (inAdvance) {
      try {
        const state = await inAdvance.useOrTake(key, cost)
        isLocal = false
        return state
      } catch (error) {
        if (error instanceof RateLimiterRes) throw error
        if (!isLocal) logger.warn('rate limits counted per replica', { limit: name, error })
        isLocal = true
      }
    }
    return local.consume(slotOf(key), cost)
  }
  const keyOf = (key: string) => (key.length > MAX_KEY_LENGTH ? hash('sha256', key) : key)

  return {
    /** The state, if it needs no request. */
    countHere: (key: string, cost: number) => inAdvance?.use(keyOf(key), cost),

    async count(key: string, cost: number): Promise<{ state: LimitState; isExceeded: boolean }> {
      try {
        return { state: await consume(keyOf(key), cost), isExceeded: false }
      } catch (error) {
        if (error instanceof RateLimiterRes) return { state: error, isExceeded: true }
        throw error
      }
    },
  }
}

export type Limiter = (key: string, res?: Response, cost?: number) => Promise<void>

/** A limiter for handlers: it throws ApiError RATE_LIMITED with Retry-After once a key has exceeded its limit. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { name, points, durationSeconds } = options
  const { countHere, count } = createCounter(options)

  function describe(res: Response | undefined, { remainingPoints, msBeforeNext }: LimitState): number {
    const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000))
    if (res) setRateLimit(res, name, { points, durationSeconds, remaining: remainingPoints, resetSeconds })
    return resetSeconds
  }
  async function countAndCheck(key: string, res: Response | undefined, cost: number) {
    const { state, isExceeded } = await count(key, cost)
    const resetSeconds = describe(res, state)
    if (isExceeded)
      throw new ApiError('RATE_LIMITED', `Too many requests; try again in ${resetSeconds} s`, {
        retryAfterSeconds: resetSeconds,
      })
  }
  return (key, res, cost = 1) => {
    const state = countHere(key, cost)
    if (!state) return countAndCheck(key, res, cost)
    describe(res, state)
    return WITHIN_LIMIT
  }
}

const WITHIN_LIMIT = Promise.resolve()

export type Budget = (key: string, cost?: number) => Promise<boolean>

/** A limit that refuses no request: the caller decides what to do above it. */
export function createBudget(options: LimiterOptions): Budget {
  const { count } = createCounter(options)
  return async (key, cost = 1) => !(await count(key, cost)).isExceeded
}

type RateLimitState = { points: number; durationSeconds: number; remaining: number; resetSeconds: number }

/** Headers: draft-ietf-httpapi-ratelimit-headers. */
export function setRateLimit(
  res: Response,
  name: string,
  { points, durationSeconds, remaining, resetSeconds }: RateLimitState,
) {
  setItem(res, 'RateLimit-Policy', name, `q=${points};w=${durationSeconds}`)
  setItem(res, 'RateLimit', name, `r=${remaining};t=${resetSeconds}`)
}

function setItem(res: Response, header: string, name: string, parameters: string) {
  const item = `"${name}";${parameters}`
  const set = res.getHeader(header)
  if (set === undefined) {
    res.setHeader(header, item)
    return
  }
  const others = [set].flat().filter((other) => !String(other).startsWith(`"${name}";`))
  res.setHeader(header, others.length === 0 ? item : [...others.map(String), item])
}

/** Middleware that limits requests per key: see {@link createLimiter}. Headers: draft-ietf-httpapi-ratelimit-headers. */
export const createRateLimit = ({
  key,
  ...options
}: LimiterOptions & { key: (req: Request) => string }): RequestHandler => limitBy(key, createLimiter(options))

export const limitBy =
  (key: (req: Request) => string, limit: Limiter): RequestHandler =>
  async (req, res, next) => {
    await limit(key(req), res)
    next()
  }

/**
 * The client address as a key: an IPv4 address, or the /64 of an IPv6 address, because one client can use all of its /64. The
 * port is dropped: some proxies write it into X-Forwarded-For, and it differs for each connection.
 */
export function addressKey(req: Request): string {
  const address = (req.ip ?? '')
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/%.*$/, '')
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(Boolean)
  const after = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after]
  return `${groups
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

const SLOTS = 65_536

/** Bounds the memory of local counters: keys share slots, and the random salt prevents chosen collisions. */
function createSlots() {
  const salt = randomBytes(16).toString('hex')
  return (key: string) => hash('sha256', salt + key, 'buffer').readUInt32LE() % SLOTS
}
