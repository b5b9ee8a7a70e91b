import { AuthMethod, Ecosystem, type SessionTokens } from '@tollgate/protocol'
import { type GatewayDatabase } from '@tollgate/database'
import { ApiError } from '@tollgate/service'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type Plan } from '../catalog/catalog'
import { type Tokens } from './tokens'

const REFRESH_TTL_DAYS = 30
const DAY_MS = 86_400_000

/** Who is calling: the claims of a bearer token under our own names. Whether it was revoked, the database says. */
export type Session = {
  id: string
  wallet: string
  authMethod: AuthMethod
  ecosystem: Ecosystem
  chainId: string
  planId: number
}

export type Sessions = ReturnType<typeof createSessions>

/** Sessions live in Postgres, so that a logout holds at once and on every replica. */
export function createSessions({ prisma }: GatewayDatabase, tokens: Tokens, now: () => Date) {
  const issue = (session: Session, refreshToken: string): SessionTokens => {
    const { token, expiresAt } = tokens.issue({
      wallet: session.wallet,
      auth_method: session.authMethod,
      chain_id: session.chainId,
      ecosystem: session.ecosystem,
      pricing_plan_id: session.planId,
      sid: session.id,
      jti: randomUUID(),
    })
    return { token, refresh_token: refreshToken, expires_at: expiresAt.toISOString() }
  }

  const newRefreshToken = () => {
    const token = randomBytes(32).toString('base64url')
    return {
      token,
      row: { hash: hashOf(token), expiresAt: new Date(now().getTime() + REFRESH_TTL_DAYS * DAY_MS) },
    }
  }

  /** Ends a session: all its tokens, at once. */
  const revoke = async (sessionId: string): Promise<void> => {
    await prisma.session.updateMany({ where: { id: sessionId, revokedAt: null }, data: { revokedAt: now() } })
  }

  return {
    async open({ wallet, authMethod, plan }: { wallet: string; authMethod: AuthMethod; plan: Plan }) {
      const session: Session = {
        id: randomUUID(),
        wallet,
        authMethod,
        ecosystem: plan.ecosystem,
        chainId: plan.chainId,
        planId: plan.id,
      }
      const refresh = newRefreshToken()
      await prisma.session.create({ data: { ...session, refreshTokens: { create: refresh.row } } })
      return issue(session, refresh.token)
    },

    /** @throws ApiError INVALID_TOKEN or EXPIRED_TOKEN; a revoked session passes here and is stopped where it acts */
    authenticate(bearer: string): Session {
      const claims = tokens.verify(bearer)
      return {
        id: claims.sid,
        wallet: claims.wallet,
        authMethod: claims.auth_method,
        ecosystem: claims.ecosystem,
        chainId: claims.chain_id,
        planId: claims.pricing_plan_id,
      }
    },

    /** @throws ApiError REVOKED_TOKEN */
    async mustLive(session: Session) {
      const live = await prisma.session.count({ where: { id: session.id, revokedAt: null } })
      if (live === 0) throw revokedToken()
    },

    /** A new pair for a refresh token that was never used. One that comes back ends its whole session (RFC 9700, 4.14). */
    async refresh(refreshToken: string): Promise<SessionTokens> {
      const hash = hashOf(refreshToken)
      const next = newRefreshToken()
      const { count } = await prisma.refreshToken.updateMany({
        where: { hash, usedAt: null, expiresAt: { gt: now() }, session: { revokedAt: null } },
        data: { usedAt: now() },
      })
      const used = await prisma.refreshToken.findUnique({ where: { hash }, include: { session: true } })
      if (!used) throw new ApiError('INVALID_TOKEN', 'The refresh token is unknown; sign in again')
      if (count === 0) {
        if (used.usedAt !== null) await revoke(used.sessionId)
        else if (used.expiresAt <= now())
          throw new ApiError('EXPIRED_TOKEN', 'The refresh token has expired; sign in again')
        throw revokedToken()
      }
      await prisma.refreshToken.create({ data: { ...next.row, sessionId: used.sessionId } })
      return issue(sessionOf(used.session), next.token)
    },

    revoke,
  }
}

/** A session's row holds the words that this service wrote. */
const sessionOf = (
  row: Omit<Session, 'authMethod' | 'ecosystem'> & { authMethod: string; ecosystem: string },
): Session => ({
  ...row,
  authMethod: AuthMethod.parse(row.authMethod),
  ecosystem: Ecosystem.parse(row.ecosystem),
})

export const revokedToken = () => new ApiError('REVOKED_TOKEN', 'This session was ended; sign in again')

const hashOf = (token: string) => createHash('sha256').update(token).digest()
