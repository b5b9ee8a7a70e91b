import { timingSafeEqual } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { ApiError, requestId, type Limiter, type Logger, type ReadBody } from '@tollgate/service'
import { type Request, type RequestHandler, type Response } from 'express'
import { BODY_LIMIT_BYTES } from '../body-limit'
import { sha256 } from '../digest'
import { type AdminLimit } from './admin-limit'
import { type SignedInUser, type UserStore } from './store'
import { type Tokens } from './tokens'

type UserHandler<P> = (req: Request<P>, res: Response, user: SignedInUser) => unknown

/** Authenticates the access token, which its session must still have, and checks the rate limit before it reads the body. */
export const createUserGuard =
  (parts: { users: UserStore; tokens: Tokens; readBody: ReadBody; limit: Limiter; now: () => Date }) =>
  <P = Record<string, string>>(handler: UserHandler<P>): RequestHandler<P> =>
  async (req, res) => {
    const { users, tokens, readBody, limit, now } = parts
    res.set('Cache-Control', 'no-store')
    const token = tokens.read(bearer(req))
    // Set before the first await, so that the metrics count a client that disconnects.
    res.locals.userId = token?.userId
    const user = token && (await users.bySession(token, now()))
    if (!user)
      throw new ApiError('UNAUTHORIZED', 'Send a valid access token as bearer; POST /api/v1/login gives one')
    const key = String(user.id)
    await readBody(req as Request, res, {
      limitBytes: BODY_LIMIT_BYTES,
      sender: `user ${key}`,
      limit: (points) => limit(key, res, points),
    })
    await handler(req, res, user)
  }

/** Accepts each of the tokens; rejects all requests if none is configured. Wrong tokens are limited by address. */
export const createAdminGuard =
  (adminTokens: readonly string[], readBody: ReadBody, limit: AdminLimit) =>
  (handler: (req: Request, res: Response) => unknown): RequestHandler =>
  async (req, res) => {
    res.set('Cache-Control', 'no-store')
    await limit.assertOpen(req)
    const sent = sha256(bearer(req))
    if (!adminTokens.some((token) => timingSafeEqual(sent, sha256(token)))) {
      await limit.countFailure(req, res)
      throw new ApiError('UNAUTHORIZED', 'Send the admin token of the service as bearer')
    }
    await readBody(req, res, { limitBytes: BODY_LIMIT_BYTES, sender: 'admin' })
    await handler(req, res)
  }

/** What an action did, for its log line: never a secret. */
type Facts = Readonly<Record<string, string | number | bigint | boolean>>

/** For handlers that change something: they return facts, which are logged once the change is made. */
export const createAdminActionGuard =
  (withAdmin: ReturnType<typeof createAdminGuard>, logger: Logger) =>
  (handler: (req: Request, res: Response) => Promise<Facts>): RequestHandler =>
    withAdmin(async (req, res) => {
      const facts = await handler(req, res)
      const { path } = req.route as { path: string }
      logger.info('operator action', {
        action: `${req.method} ${path}`,
        ...facts,
        requestId: requestId(req),
      })
    })

/** The bearer token (RFC 6750, 2.1), or an empty string. Two headers count as none: a proxy may have used the other one. */
function bearer({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>) {
  const [authorization = '', ...others] = headersDistinct.authorization ?? []
  return (others.length === 0 && /^Bearer +(\S.*)$/i.exec(authorization)?.[1]) || ''
}
