import { addressKey, ApiError, createLimiter, type EphemeralStore, type Logger } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { sha256 } from '../digest'

const KNOWN_ADDRESS_SECONDS = 30 * 86_400
const WINDOW_SECONDS = 60

/**
 * Counts an attempt to log in; `succeeded` is called once it has.
 *
 * @throws ApiError RATE_LIMITED beyond the limit, whether there is such an account or not
 */
export type LoginLimit = (
  email: string,
  req: Request,
  res: Response,
) => Promise<{ succeeded: () => Promise<void> }>

/**
 * Limits logins by account, beside the limit by address. All addresses share the account's window, so that a password cannot be
 * guessed from many at once; but an address that the account logged in from within 30 days has a window of its own, so that
 * those guesses do not keep the account's owner out.
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
    const fromHere = `${account} ${addressKey(req)}`
    const isKnown = (await store.get(`login ${fromHere}`).catch(whileAway)) !== undefined
    await limit(isKnown ? fromHere : account, res)
    return {
      succeeded: async () => {
        await store.set(`login ${fromHere}`, 'known', KNOWN_ADDRESS_SECONDS).catch(whileAway)
      },
    }
  }
}

/** Without the store every address shares the account's window. */
function whileAway(error: unknown): undefined {
  if (!(error instanceof ApiError)) throw error
}
