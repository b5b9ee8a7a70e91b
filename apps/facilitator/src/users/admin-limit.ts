import { addressKey, ApiError, createLimiter, type EphemeralStore, type Logger } from '@tollgate/service'
import { type Request, type Response } from 'express'

const WINDOW_SECONDS = 60

export type AdminLimit = ReturnType<typeof createAdminLimit>

/** Limits wrong admin tokens by address. Above the limit also the right one is refused there for a minute: else guesses would go on. */
export function createAdminLimit(parts: { store: EphemeralStore; perMinute: number; logger: Logger }) {
  const { store, perMinute, logger } = parts
  const name = 'admin-tokens'
  const limit = createLimiter({ store, logger, name, points: perMinute, durationSeconds: WINDOW_SECONDS })
  const lockOf = (req: Request) => `${name} ${addressKey(req)}`

  return {
    /** @throws ApiError RATE_LIMITED */
    async assertOpen(req: Request): Promise<void> {
      if ((await store.get(lockOf(req)).catch(ignoreOutage)) !== undefined)
        throw new ApiError('RATE_LIMITED', 'Too many wrong admin tokens from this address; try again later', {
          retryAfterSeconds: WINDOW_SECONDS,
        })
    },

    /** @throws ApiError RATE_LIMITED */
    async countFailure(req: Request, res: Response): Promise<void> {
      await limit(addressKey(req), res).catch(async (error: unknown) => {
        await store.set(lockOf(req), 'locked', WINDOW_SECONDS).catch(ignoreOutage)
        throw error
      })
    },
  }
}

/** Each replica counts alone while the store is away, and locks nothing. */
function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error
}
