import { addressKey, ApiError, createLimiter, type EphemeralStore, type Logger } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { sha256 } from '../digest'

const KNOWN_ADDRESS_SECONDS = 30 * 86_400
const WINDOW_SECONDS = 60

/** Counts a login attempt. @throws ApiError RATE_LIMITED, whether the account exists or not */
export type LoginLimit = (
  email: string,
  req: Request,
  res: Response,
) => Promise<{ succeeded: () => Promise<void> }>

/**
 * Limits logins by account. All addresses share the account's limit, against distributed guessing. An address that the account
 * logged in from within 30 days has its own limit, so that guessing does not lock out the owner.
 */
export function createLoginLimit(parts: {
  store: EphemeralStore
  perMinute: number
  logger: Logger
}): LoginLimit {
  const { store, perMinute, logger } = parts
  const limit = createLimiter({
    store,
    logger,
    name: 'logins',
    points: perMinute,
    durationSeconds: WINDOW_SECONDS,
  })

  return async (email, req, res) => {
    const account = sha256(email.toLowerCase()).toString('base64')
    const addressAccount = `${account} ${addressKey(req)}`
    const isKnown = (await store.get(`login ${addressAccount}`).catch(ignoreOutage)) !== undefined
    await limit(isKnown ? addressAccount : account, res)
    return {
      succeeded: async () => {
        await store.set(`login ${addressAccount}`, 'known', KNOWN_ADDRESS_SECONDS).catch(ignoreOutage)
      },
    }
  }
}

/** Without the store all addresses share the account's limit. */
function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error
}
