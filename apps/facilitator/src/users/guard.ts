import { timingSafeEqual } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { ApiError, type Limiter } from '@tollgate/service'
import { type Request, type RequestHandler, type Response } from 'express'
import { sha256 } from '../digest'
import { type User, type UserStore } from './store'
import { type Tokens } from './tokens'

type UserHandler<P> = (req: Request<P>, res: Response, user: User) => unknown

/** Admits users by their access token, within `limit`, and passes the user to the handler. */
export const createUserGuard =
  (users: UserStore, tokens: Tokens, limit: Limiter) =>
  <P = Record<string, string>>(handler: UserHandler<P>): RequestHandler<P> =>
  async (req, res) => {
    res.set('Cache-Control', 'no-store')
    const userId = tokens.read(bearer(req))
    // Before anything is waited for: who leaves meanwhile is counted too.
    res.locals.userId = userId
    const user = userId === undefined ? undefined : await users.byId(userId)
    if (!user)
      throw new ApiError('UNAUTHORIZED', 'Send a valid access token as bearer; POST /api/v1/login gives one')
    await limit(String(user.id), res)
    await handler(req, res, user)
  }

/** Admits whoever sends the configured admin token; nobody if none is configured. */
export const createAdminGuard =
  (adminToken: string | undefined) =>
  (handler: (req: Request, res: Response) => unknown): RequestHandler =>
  async (req, res) => {
    res.set('Cache-Control', 'no-store')
    if (adminToken === undefined || !timingSafeEqual(sha256(bearer(req)), sha256(adminToken)))
      throw new ApiError('UNAUTHORIZED', 'Send the admin token of the service as bearer')
    await handler(req, res)
  }

/** The bearer token (RFC 6750, 2.1), or an empty string. Two headers count as none: a proxy may have acted on the other. */
function bearer({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>) {
  const [authorization = '', ...others] = headersDistinct.authorization ?? []
  return (others.length === 0 && /^Bearer +(\S.*)$/i.exec(authorization)?.[1]) || ''
}
