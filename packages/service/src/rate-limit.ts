import { hash, randomBytes } from 'node:crypto'
import { type Request, type RequestHandler, type Response } from 'express'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { type EphemeralStore } from './ephemeral'
import { ApiError } from './errors'
import { type Logger } from './logger'

export type LimiterOptions = {
  store: EphemeralStore
  /** Names the policy in the headers; one name counts together wherever it is used. */
  name: string
  /** How many requests a key has in each window of `durationSeconds`. */
  points: number
  durationSeconds: number
  logger: Logger
}

const MAX_KEY_LENGTH = 128

/** Takes points from the key, one unless told otherwise, and answers what is left of its window. */
type Counter = (key: string, taken?: number) => Promise<{ state: RateLimiterRes; isOver: boolean }>

/** Counted in Redis for all replicas together; while Redis is away each replica counts for itself. */
function createCounter({ store, name, points, durationSeconds, logger }: LimiterOptions): Counter {
  const here = new RateLimiterMemory({ keyPrefix: name, points, duration: durationSeconds })
  const shared =
    store.redis &&
    new RateLimiterRedis({
      storeClient: store.redis,
      rejectIfRedisNotReady: true,
      // A key over its limit is refused here until its window ends, so that a flood does not reach Redis.
      inMemoryBlockOnConsumed: points + 1,
      keyPrefix: `limit:${name}`,
      points,
      duration: durationSeconds,
    })
  const slot = createSlots()
  let isAlone = false

  async function consume(key: string, taken: number): Promise<RateLimiterRes> {
    if (shared) {
      try {
        const state = await shared.consume(key, taken)
        isAlone = false
        return state
      } catch (error) {
        if (error instanceof RateLimiterRes) throw error
        if (!isAlone)
          logger.warn('rate limits are counted by each replica while Redis is away', { limit: name })
        isAlone = true
      }
    }
    return here.consume(slot(key), taken)
  }

  return (key, taken = 1) =>
    consume(key.length > MAX_KEY_LENGTH ? hash('sha256', key) : key, taken).then(
      (left) => ({ state: left, isOver: false }),
      (refused: unknown) => {
        if (refused instanceof RateLimiterRes) return { state: refused, isOver: true }
        throw refused
      },
    )
}

/**
 * Takes points from the key, one unless told otherwise, and says in the headers of the answer, where there is one, how many
 * are left.
 */
export type Limiter = (key: string, res?: Response, taken?: number) => Promise<void>

/**
 * A limit for handlers that know the key only late, such as the wallet of a session.
 *
 * @throws ApiError RATE_LIMITED with Retry-After, from the limiter, once a key has used up its window
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { name, points, durationSeconds } = options
  const count = createCounter(options)
  return async (key, res, taken) => {
    const { state, isOver } = await count(key, taken)
    const resetSeconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
    if (res) {
      setItem(res, 'RateLimit-Policy', name, `q=${points};w=${durationSeconds}`)
      setItem(res, 'RateLimit', name, `r=${state.remainingPoints};t=${resetSeconds}`)
    }
    if (isOver)
      throw new ApiError('RATE_LIMITED', `Too many requests; try again in ${resetSeconds} s`, {
        retryAfterSeconds: resetSeconds,
      })
  }
}

/** Takes a point from the key; false once it has used up its window. */
export type Budget = (key: string) => Promise<boolean>

/** The same count for what is not refused over the limit, but treated otherwise. */
export function createBudget(options: LimiterOptions): Budget {
  const count = createCounter(options)
  return async (key) => !(await count(key)).isOver
}

/** Sets the item of that name in a header that is a list, and leaves the others. */
function setItem(res: Response, header: string, name: string, parameters: string) {
  const items = [res.getHeader(header) ?? []].flat().map(String)
  const others = items.filter((item) => !item.startsWith(`"${name}";`))
  res.setHeader(header, [...others, `"${name}";${parameters}`])
}

/**
 * Limits how often a key may call, before anything else is done for it: see {@link createLimiter}. The headers are those
 * of draft-ietf-httpapi-ratelimit-headers.
 */
export const createRateLimit = ({
  key,
  ...options
}: LimiterOptions & { key: (req: Request) => string }): RequestHandler => limitBy(key, createLimiter(options))

/** {@link createRateLimit} with a limiter that something else counts by as well. */
export const limitBy =
  (key: (req: Request) => string, limit: Limiter): RequestHandler =>
  async (req, res, next) => {
    await limit(key(req), res)
    next()
  }

/**
 * The caller's address as a key: an IPv4 address, or the /64 of an IPv6 one, of which a caller has as many as it likes.
 * Without its port, which some proxies write into X-Forwarded-For and which is another for each connection.
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

/** Bounds the memory of the counters here: many keys share few slots, which nobody can aim at for want of the salt. */
function createSlots() {
  const salt = randomBytes(16).toString('hex')
  return (key: string) => hash('sha256', salt + key, 'buffer').readUInt32LE() % SLOTS
}
