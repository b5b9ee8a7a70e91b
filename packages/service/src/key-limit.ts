import { type Response } from 'express'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { ApiError } from './errors'
import { type LimiterOptions, setRateLimit } from './rate-limit'

/** Above any limit of a key: the key's own limit is compared with what was counted. */
const UNLIMITED = 1_000_000_000

export type KeyLimiter = (key: string, points: number, res?: Response) => Promise<void>

/**
 * Like `createLimiter`, for keys that each have a limit of their own, given with each call. Counts every call, also those above the
 * limit, in Redis for all replicas; while Redis is unavailable each replica counts for itself.
 *
 * @returns a function that throws ApiError RATE_LIMITED with Retry-After once the key has exceeded its limit
 */
export function createKeyLimiter(options: Omit<LimiterOptions, 'points'>): KeyLimiter {
  const { store, name, durationSeconds, logger } = options
  const local = new RateLimiterMemory({ keyPrefix: name, points: UNLIMITED, duration: durationSeconds })
  const shared =
    store.redis &&
    new RateLimiterRedis({
      storeClient: store.redis,
      rejectIfRedisNotReady: true,
      keyPrefix: `limit:${name}`,
      points: UNLIMITED,
      duration: durationSeconds,
    })
  let isLocal = false

  async function count(key: string): Promise<RateLimiterRes> {
    if (!shared) return local.consume(key)
    try {
      const state = await shared.consume(key)
      isLocal = false
      return state
    } catch (error) {
      if (!isLocal) logger.warn('rate limits counted per replica', { limit: name, error })
      isLocal = true
      return local.consume(key)
    }
  }

  return async (key, points, res) => {
    const { consumedPoints, msBeforeNext } = await count(key)
    const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000))
    const remaining = Math.max(0, points - consumedPoints)
    if (res) setRateLimit(res, name, { points, durationSeconds, remaining, resetSeconds })
    if (consumedPoints > points)
      throw new ApiError('RATE_LIMITED', `Too many requests; try again in ${resetSeconds} s`, {
        retryAfterSeconds: resetSeconds,
      })
  }
}
