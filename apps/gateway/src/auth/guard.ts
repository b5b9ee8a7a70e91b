import { ApiError } from '@tollgate/service'
import { type Request, type RequestHandler, type Response } from 'express'
import { type Session, type Sessions } from './sessions'

export type SessionHandler = (req: Request, res: Response, session: Session) => unknown

/** Passes the session to a handler, which does not compile if it is mounted without this guard. */
export const createGuard =
  (sessions: Sessions) =>
  (handler: SessionHandler): RequestHandler =>
  (req, res) =>
    handler(req, res, sessions.authenticate(bearerOf(req)))

/** The session of a request that may come without one. @throws ApiError INVALID_TOKEN or EXPIRED_TOKEN for a bad token */
export const findSession = (sessions: Pick<Sessions, 'authenticate'>, req: Request): Session | undefined =>
  req.headers.authorization === undefined ? undefined : sessions.authenticate(bearerOf(req))

/** RFC 6750, 2.1. */
function bearerOf(req: Request): string {
  const bearer = /^Bearer ([A-Za-z0-9._~+/=-]+)$/i.exec(req.get('authorization') ?? '')?.[1]
  if (bearer === undefined)
    throw new ApiError(
      'INVALID_TOKEN',
      'Send `Authorization: Bearer <token>` with a token from POST /auth/login',
    )
  return bearer
}
