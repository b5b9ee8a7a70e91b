import { type FacilitatorDatabase } from '@tollgate/database'
import { sha256 } from '../digest'

/** Per user. The oldest sessions above it end. */
export const MAX_SESSIONS = 100

export type Session = {
  id: string
  createdAt: Date
  /** Of the last refresh, to the minute. */
  lastUsedAt: Date
  expiresAt: Date
  userAgent: string | null
}

type NewSession = {
  userId: number
  /** That the password was compared with. */
  passwordHash: string
  refreshToken: string
  userAgent: string | null
  createdAt: Date
  expiresAt: Date
}

export type SessionStore = ReturnType<typeof createSessionStore>

/** A session is the row of its refresh token, of which it has the SHA-256. An ended session has no row. */
export function createSessionStore({ pool }: Pick<FacilitatorDatabase, 'pool'>) {
  return {
    /**
     * The id of the new session; undefined if the user was disabled or got another password since the comparison. Deletes the user's
     * sessions that have expired or exceed {@link MAX_SESSIONS}. Concurrent logins may exceed it until the next one.
     */
    async start(session: NewSession): Promise<string | undefined> {
      const { userId, passwordHash, refreshToken, userAgent, createdAt, expiresAt } = session
      const { rows } = await pool.query<{ id: string }>({
        name: 'start-session',
        text: START,
        values: [
          ...[sha256(refreshToken), userId, passwordHash, userAgent],
          ...[createdAt, expiresAt, MAX_SESSIONS - 1],
        ],
      })
      return rows[0]?.id
    },

    /** The session of the refresh token, and notes that it was used. */
    async refresh(refreshToken: string, now: Date): Promise<{ id: string; userId: number } | undefined> {
      const { rows } = await pool.query<{ id: string; userId: number }>({
        name: 'refresh-session',
        text: REFRESH,
        values: [sha256(refreshToken), now],
      })
      return rows[0]
    },

    /** Last used first. */
    async list(userId: number, now: Date): Promise<Session[]> {
      const { rows } = await pool.query<Session>(
        `SELECT id, created_at AS "createdAt", ${LAST_USED} AS "lastUsedAt", expires_at AS "expiresAt", user_agent AS "userAgent"
         FROM refresh_tokens WHERE user_id = $1 AND expires_at > $2 ORDER BY ${LAST_USED} DESC, id`,
        [userId, now],
      )
      return rows
    },

    /** False if the user has no such session. */
    async end(userId: number, id: string): Promise<boolean> {
      const { rowCount } = await pool.query('DELETE FROM refresh_tokens WHERE user_id = $1 AND id = $2', [
        userId,
        id,
      ])
      return rowCount === 1
    },

    /** How many sessions it ended. */
    async endOthers(userId: number, id: string): Promise<number> {
      const { rowCount } = await pool.query(END_SESSIONS, [userId, id])
      return rowCount ?? 0
    },
  }
}

const LAST_USED = 'coalesce(last_used_at, created_at)'

/** Locks the user, so that a change of its password is before or after: see the password store. Skips rows that a concurrent login deletes. */
const START = `
WITH started AS (
  INSERT INTO refresh_tokens (hash, user_id, created_at, last_used_at, expires_at, user_agent)
  SELECT $1, id, $5, $5, $6, $4 FROM users WHERE id = $2 AND password_hash = $3 AND disabled_at IS NULL FOR SHARE
  RETURNING id
), trimmed AS (
  DELETE FROM refresh_tokens WHERE hash IN (
    SELECT hash FROM refresh_tokens
    WHERE user_id = $2 AND (expires_at <= $5 OR hash NOT IN (
      SELECT hash FROM refresh_tokens WHERE user_id = $2 ORDER BY created_at DESC, hash LIMIT $7
    ))
    FOR UPDATE SKIP LOCKED
  )
)
SELECT id FROM started`

/** A session that is refreshed often is not written for every refresh. */
const REFRESH = `
WITH live AS (
  SELECT s.hash, s.id, s.user_id FROM refresh_tokens s JOIN users u ON u.id = s.user_id
  WHERE s.hash = $1 AND s.expires_at > $2 AND u.disabled_at IS NULL
), used AS (
  UPDATE refresh_tokens SET last_used_at = $2 FROM live
  WHERE refresh_tokens.hash = live.hash AND ${LAST_USED} < $2::timestamptz - interval '1 minute'
)
SELECT id, user_id AS "userId" FROM live`

/** $1 user, $2 the session that stays, or null. In the order of their keys: two such statements must not wait for each other. */
export const END_SESSIONS = `
DELETE FROM refresh_tokens WHERE hash IN (
  SELECT hash FROM refresh_tokens WHERE user_id = $1 AND id IS DISTINCT FROM $2::uuid ORDER BY hash FOR UPDATE)`
