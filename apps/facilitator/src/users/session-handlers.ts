import { SessionPath, type Session as WireSession } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Session, type SessionStore } from './session-store'
import { type SignedInUser } from './store'

export function createSessionHandlers(sessions: SessionStore, now: () => Date) {
  return {
    async logout(_req: Request, res: Response, user: SignedInUser) {
      await sessions.end(user.id, sessionOf(user))
      res.json({ data: { message: 'Logged out' } })
    },

    async list(_req: Request, res: Response, user: SignedInUser) {
      const current = sessionOf(user)
      const found = await sessions.list(user.id, now())
      res.json({ data: found.map((session) => toWire(session, current)) })
    },

    async end(req: Request<{ id: string }>, res: Response, user: SignedInUser) {
      const { id } = parse(SessionPath, req.params)
      if (!(await sessions.end(user.id, id)))
        throw new ApiError('NOT_FOUND', 'You have no such session; GET /api/v1/sessions lists yours')
      res.json({ data: { deleted: id } })
    },

    async endOthers(_req: Request, res: Response, user: SignedInUser) {
      res.json({ data: { deleted: await sessions.endOthers(user.id, sessionOf(user)) } })
    },
  }
}

/** @throws ApiError if the access token is one of the version before, which named no session */
export function sessionOf({ sessionId }: SignedInUser): string {
  if (sessionId !== undefined) return sessionId
  throw new ApiError(
    'UNAUTHORIZED',
    'This access token names no session; get a new one from POST /api/v1/token/refresh',
  )
}

const toWire = (
  { id, createdAt, lastUsedAt, expiresAt, userAgent }: Session,
  current: string,
): WireSession => ({
  id,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  userAgent,
  current: id === current,
})
