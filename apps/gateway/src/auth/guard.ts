import { ApiError } from '@tollgate/service'
import { type Request, type RequestHandler, type Response } from 'express'
import { type Session, type Sessions } from './sessions'

export type SessionHandler = (req: Request, res: Response, session: Session) => unknown

/** Mounts a handler for signed-in wallets only: it is handed the session, and without one it does not compile. */
export const createGuard =
  (sessions: Sessions) =>
  (handler: SessionHandler): RequestHandler =>
  (req, res) =>
    handler(req, res, sessions.authenticate(bearerOf(req)))

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
