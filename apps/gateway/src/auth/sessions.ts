import { AuthMethod, Ecosystem, type SessionTokens } from '@tollgate/protocol'
import { type GatewayDatabase } from '@tollgate/database'
import { ApiError } from '@tollgate/service'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Plan } from '../catalog/catalog'
import { type Tokens } from './tokens'

const REFRESH_TTL_DAYS = 30
const DAY_MS = 86_400_000
/** A used token that comes back within this time is of a second tab, or of a client that lost the answer. */
const REUSE_WINDOW_MS = 10_000

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

/** The session of a request that proved its wallet by itself. */
export type OwnProof = { session: Session; open: () => Promise<void> }

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

  const rowOf = (token: string) => ({
    hash: hashOf(token),
    expiresAt: new Date(now().getTime() + REFRESH_TTL_DAYS * DAY_MS),
  })

  const revoke = async (sessionId: string): Promise<void> => {
    await prisma.session.updateMany({ where: { id: sessionId, revokedAt: null }, data: { revokedAt: now() } })
  }

  /** Compares times of Postgres, and leaves out the time that the request waited in this process. */
  const isReusedLate = ({ readAt }: Rotation, usedAt: Date, askedAtMs: number) =>
    readAt.getTime() - (performance.now() - askedAtMs) >= usedAt.getTime() + REUSE_WINDOW_MS

  return {
    async create(details: NewSession): Promise<SessionTokens> {
      const session = newSession(randomUUID(), details)
      const refreshToken = newRefreshToken()
      const { hash, expiresAt } = rowOf(refreshToken)
      const values = [...valuesOf(session, details), hash, expiresAt]
      await pool.query({ name: 'create-session', text: CREATE_SESSION, values })
      return issue(session, refreshToken)
    },

    /**
     * For requests that carry their own proof: one session of a wallet on a plan for all of them, as no client gets tokens of it.
     * `open` stores it, which a spend needs.
     */
    ofProofs(details: NewSession): OwnProof {
      const session = newSession(idOfProofs(details), details)
      const values = valuesOf(session, details)
      return {
        session,
        open: async () => void (await pool.query({ name: 'open-session', text: OPEN_SESSION, values })),
      }
    },

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

    /**
     * Whose webhooks a session sees and changes. A key has its address on every chain, a contract on the chain of its session only:
     * elsewhere another contract may have the address.
     *
     * @throws ApiError REVOKED_TOKEN
     */
    async findOwner({ id }: Session): Promise<string> {
      const live = await prisma.session.findUnique({ where: { id, revokedAt: null } })
      if (!live) throw revokedToken()
      const { wallet, signedBy, ecosystem, chainId } = live
      return signedBy === 'key' ? wallet : `${wallet}@${ecosystem}:${chainId}`
    },

    async findSignedBy(session: Session): Promise<SignedBy | undefined> {
      const row = await prisma.session.findUnique({ where: { id: session.id }, select: { signedBy: true } })
      return SignedBy.safeParse(row?.signedBy).data
    },

    /**
     * Returns the next pair of a refresh token, for its first use only. A use more than ten seconds after it also revokes the session
     * (RFC 9700, 4.14). The time counts once the token is known here: a client that sends it slowly does not prolong it.
     *
     * @throws ApiError INVALID_TOKEN, EXPIRED_TOKEN or REVOKED_TOKEN
     */
    async refresh(used: string): Promise<SessionTokens> {
      const askedAtMs = performance.now()
      const next = newRefreshToken()
      const row = rowOf(next)
      const values = [hashOf(used), row.hash, row.expiresAt, now()]
      const { rows } = await pool.query<Rotation>({ name: 'refresh', text: ROTATE, values })
      const [token] = rows
      if (!token) throw invalidRefreshToken('is unknown')
      if (token.isRotated) return issue(sessionOf(token), next)
      if (token.isRevoked) throw revokedToken()
      if (token.usedAt) {
        if (isReusedLate(token, token.usedAt, askedAtMs)) await revoke(token.id)
        throw invalidRefreshToken('was used')
      }
      throw new ApiError('EXPIRED_TOKEN', 'The refresh token has expired; sign in again')
    },

    revoke,
  }
}

const newRefreshToken = () => randomBytes(32).toString('base64url')

const hashOf = (token: string) => createHash('sha256').update(token).digest()

type SessionRow = Omit<Session, 'authMethod' | 'ecosystem'> & { authMethod: string; ecosystem: string }

const sessionOf = ({ id, wallet, authMethod, ecosystem, chainId, planId }: SessionRow): Session => ({
  id,
  wallet,
  authMethod: AuthMethod.parse(authMethod),
  ecosystem: Ecosystem.parse(ecosystem),
  chainId,
  planId,
})

const newSession = (id: string, { wallet, authMethod, plan }: NewSession): Session => ({
  id,
  wallet,
  authMethod,
  ecosystem: plan.ecosystem,
  chainId: plan.chainId,
  planId: plan.id,
})

const idOfProofs = ({ wallet, plan }: NewSession) =>
  createHash('sha256').update(`proofs of ${wallet} on plan ${plan.id}`).digest('hex').slice(0, 32)

const valuesOf = (
  { id, wallet, authMethod, chainId, ecosystem, planId }: Session,
  { signedBy }: NewSession,
) => [id, wallet, authMethod, chainId, ecosystem, planId, signedBy]

const INSERT_SESSION = `
INSERT INTO sessions (id, wallet, auth_method, chain_id, ecosystem, pricing_plan_id, signed_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)`

/** An operator who ends all sessions ends no later proof. */
const OPEN_SESSION = `${INSERT_SESSION}
ON CONFLICT (id) DO UPDATE SET revoked_at = NULL WHERE sessions.revoked_at IS NOT NULL`

/** A session and its first refresh token, in one commit. */
const CREATE_SESSION = `
WITH session AS (${INSERT_SESSION} RETURNING id)
INSERT INTO refresh_tokens (hash, session_id, expires_at) SELECT $8, id, $9 FROM session`

/** `usedAt` is null if this statement was the first use, or found the token unused and could not use it. */
type Rotation = SessionRow & {
  isRotated: boolean
  usedAt: Date | null
  isRevoked: boolean
  isExpired: boolean
  readAt: Date
}

/** Replaces a refresh token in one commit. The lock makes a concurrent use wait, and see the first one. */
const ROTATE = `
WITH seen AS MATERIALIZED (
  SELECT session_id, used_at, expires_at <= $4 AS is_expired FROM refresh_tokens WHERE hash = $1 FOR UPDATE
), used AS (
  UPDATE refresh_tokens SET used_at = clock_timestamp()
  FROM seen
  WHERE hash = $1 AND refresh_tokens.used_at IS NULL AND seen.used_at IS NULL AND NOT is_expired
    AND EXISTS (SELECT FROM sessions WHERE id = seen.session_id AND revoked_at IS NULL)
  RETURNING refresh_tokens.session_id
), next AS (
  INSERT INTO refresh_tokens (hash, session_id, expires_at, created_at) SELECT $2, session_id, $3, $4 FROM used
)
SELECT id, wallet, auth_method AS "authMethod", chain_id AS "chainId", ecosystem, pricing_plan_id AS "planId",
  used.session_id IS NOT NULL AS "isRotated", seen.used_at AS "usedAt",
  sessions.revoked_at IS NOT NULL AS "isRevoked", is_expired AS "isExpired", clock_timestamp() AS "readAt"
FROM seen JOIN sessions ON sessions.id = seen.session_id LEFT JOIN used ON used.session_id = seen.session_id`

export const revokedToken = () => new ApiError('REVOKED_TOKEN', 'This session was ended; sign in again')

const invalidRefreshToken = (problem: string) =>
  new ApiError('INVALID_TOKEN', `The refresh token ${problem}; sign in again`)
