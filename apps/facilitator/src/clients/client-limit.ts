import { addressKey, createLimiter, type LimiterOptions } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Caller } from './store'

/** Leaves room for the honest new users of an address that one of them floods from. */
const ADDRESS_FACTOR = 2

/** Counts a request of a client key. @throws ApiError RATE_LIMITED */
export type ClientLimit = (req: Request, res: Response, caller: Caller, points?: number) => Promise<void>

/**
 * Counts by user, because one user can create many keys. Where everyone can create users, those whose fee share no operator has set
 * are also counted by address. What the user's own limit refuses does not count against its address.
 */
export function createClientLimit({
  isSignUpOpen,
  ...options
}: LimiterOptions & { isSignUpOpen: boolean }): ClientLimit {
  const { name, points } = options
  const limitUser = createLimiter(options)
  const limitAddress = createLimiter({
    ...options,
    name: `${name}-of-new-users`,
    points: points * ADDRESS_FACTOR,
  })

  return async (req, res, { userId, userFeeShareBps }, cost) => {
    await limitUser(String(userId), res, cost)
    if (isSignUpOpen && userFeeShareBps === null) await limitAddress(addressKey(req), res, cost)
  }
}
