import { AuthMethod, Ecosystem, type SessionTokens } from '@tollgate/protocol'
import { type GatewayDatabase } from '@tollgate/database'
import { ApiError, type Arrival } from '@tollgate/service'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Plan } from '../catalog/catalog'
import { type Tokens } from './tokens'
import { createRefreshReuse } from './refresh-reuse'

const REFRESH_TTL_DAYS = 30
const DAY_MS = 86_400_000

/** The claims of a bearer token. It may be revoked in the database. */
export type Session = {
  id: string
  wallet: string
  authMethod: AuthMethod
  ecosystem: Ecosystem
  chainId: string
  planId: number
}

/** The signer of the login: the wallet's key, or a contract (EIP-1271). */
export const SignedBy = z.enum(['key', 'contract'])
export type SignedBy = z.infer<typeof SignedBy>

type NewSession = { wallet: string; authMethod: AuthMethod; signedBy: SignedBy; plan: Plan }

export type Sessions = ReturnType<typeof createSessions>

/** Stored in Postgres, so that a logout takes effect at once on every replica. */
export function createSessions({ prisma, pool }: GatewayDatabase, tokens: Tokens, now: () => Date) {
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

  const revoke = async (sessionId: string): Promise<void> => {
    await prisma.session.updateMany({ where: { id: sessionId, revokedAt: null }, data: { revokedAt: now() } })
  }

  const insert = async ({ wallet, authMethod, signedBy, plan }: NewSession) => {
    const session: Session = {
      id: randomUUID(),
      wallet,
      authMethod,
      ecosystem: plan.ecosystem,
      chainId: plan.chainId,
      planId: plan.id,
    }
    const { token, row } = newRefreshToken()
    const { id, chainId, ecosystem, planId } = session
    const values = [id, wallet, authMethod, chainId, ecosystem, planId, signedBy, row.hash, row.expiresAt]
    await pool.query({ name: 'create-session', text: CREATE_SESSION, values })
    return { session, refreshToken: token }
  }

  const refreshReuse = createRefreshReuse()

  const rotate = async (hash: Buffer, arrival: Arrival): Promise<SessionTokens> => {
    const next = newRefreshToken()
    const values = [hash, next.row.hash, next.row.expiresAt, arrival.at]
    const { rows } = await pool.query<Rotation>({ name: 'refresh', text: ROTATE, values })
    const [token] = rows
    if (!token) throw new ApiError('INVALID_TOKEN', 'The refresh token is unknown; sign in again')
    if (token.isRotated) return issue(sessionOf(token), next.token)
    const { usedAt, readAt } = token
    if (usedAt && refreshReuse.isReuse(hash, { usedAt, now: readAt }, arrival)) await revoke(token.id)
    else if (token.isExpired && !usedAt)
      throw new ApiError('EXPIRED_TOKEN', 'The refresh token has expired; sign in again')
    throw revokedToken()
  }

  return {
    async create(session: NewSession) {
      const inserted = await insert(session)
      return issue(inserted.session, inserted.refreshToken)
    },

    /** A session whose tokens no client gets: for a request that carries its own proof. */
    open: async (session: NewSession): Promise<Session> => (await insert(session)).session,

    /** Does not check revocation; see {@link assertSessionActive}. @throws ApiError INVALID_TOKEN or EXPIRED_TOKEN */
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
    async assertSessionActive(session: Session) {
      const live = await prisma.session.count({ where: { id: session.id, revokedAt: null } })
      if (live === 0) throw revokedToken()
    },

    async findSignedBy(session: Session): Promise<SignedBy | undefined> {
      const row = await prisma.session.findUnique({ where: { id: session.id }, select: { signedBy: true } })
      return SignedBy.safeParse(row?.signedBy).data
    },

    /**
     * Returns a new pair for an unused refresh token. Reuse revokes the session (RFC 9700, 4.14); of concurrent requests, as from
     * two tabs of one app, one wins and the others are refused.
     */
    async refresh(refreshToken: string, arrival: Arrival): Promise<SessionTokens> {
      const hash = hashOf(refreshToken)
      const pair = await refreshReuse.serialized(hash, () => rotate(hash, arrival))
      if (!pair) throw revokedToken()
      return pair
    },

    revoke,
  }
}

type SessionRow = Omit<Session, 'authMethod' | 'ecosystem'> & { authMethod: string; ecosystem: string }

const sessionOf = ({ id, wallet, authMethod, ecosystem, chainId, planId }: SessionRow): Session => ({
  id,
  wallet,
  authMethod: AuthMethod.parse(authMethod),
  ecosystem: Ecosystem.parse(ecosystem),
  chainId,
  planId,
})

/** A session and its first refresh token, in one commit. */
const CREATE_SESSION = `
WITH session AS (
  INSERT INTO sessions (id, wallet, auth_method, chain_id, ecosystem, pricing_plan_id, signed_by)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING id
)
INSERT INTO refresh_tokens (hash, session_id, expires_at) SELECT $8, id, $9 FROM session`

type Rotation = SessionRow & { isRotated: boolean; usedAt: Date | null; readAt: Date; isExpired: boolean }

/**
 * Replaces a refresh token in one commit. `usedAt` is its value at the start of the statement: null if the token was used while
 * this statement waited for the row.
 */
const ROTATE = `
WITH seen AS (
  SELECT session_id, used_at, expires_at <= $4 AS is_expired FROM refresh_tokens WHERE hash = $1
), used AS (
  UPDATE refresh_tokens SET used_at = clock_timestamp()
  WHERE hash = $1 AND used_at IS NULL AND expires_at > $4
    AND EXISTS (SELECT FROM sessions WHERE id = session_id AND revoked_at IS NULL)
  RETURNING session_id
), next AS (
  INSERT INTO refresh_tokens (hash, session_id, expires_at, created_at) SELECT $2, session_id, $3, $4 FROM used
)
SELECT id, wallet, auth_method AS "authMethod", chain_id AS "chainId", ecosystem, pricing_plan_id AS "planId",
  used.session_id IS NOT NULL AS "isRotated", seen.used_at AS "usedAt", clock_timestamp() AS "readAt", is_expired AS "isExpired"
FROM seen JOIN sessions ON sessions.id = seen.session_id LEFT JOIN used ON used.session_id = seen.session_id`

export const revokedToken = () => new ApiError('REVOKED_TOKEN', 'This session was ended; sign in again')

const hashOf = (token: string) => createHash('sha256').update(token).digest()
