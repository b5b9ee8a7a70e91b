import { randomBytes } from 'node:crypto'
import { withTransaction, type Pool } from '@tollgate/database'
import { sha256 } from '../digest'
import { END_SESSIONS } from './session-store'

const RESET_TTL_SECONDS = 3_600

export type PasswordReset = { token: string; expiresAt: Date }

export type PasswordStore = ReturnType<typeof createPasswordStore>

/**
 * A new password ends sessions and the user's password reset in its transaction. The statement that ends the sessions is one of its
 * own, after the user is locked: then it sees the sessions of logins that held the lock before.
 */
export function createPasswordStore(pool: Pool) {
  return {
    /** Of a user that is not disabled. */
    async hashOf(userId: number): Promise<string | undefined> {
      const { rows } = await pool.query<{ hash: string }>(
        'SELECT password_hash AS hash FROM users WHERE id = $1 AND disabled_at IS NULL',
        [userId],
      )
      return rows[0]?.hash
    },

    /** Ends all sessions but one. False if `from` is not the user's hash any more, or the user is disabled. */
    change: (change: { userId: number; from: string; to: string; sessionId: string }): Promise<boolean> =>
      withTransaction(pool, async (session) => {
        const { userId, from, to, sessionId } = change
        const { rowCount } = await session.query(CHANGE, [userId, from, to])
        if (rowCount !== 1) return false
        await session.query(END_SESSIONS, [userId, sessionId])
        await session.query('DELETE FROM password_resets WHERE user_id = $1', [userId])
        return true
      }),

    /** Ends the one before. Undefined if there is no such user, or it is disabled. */
    async issueReset(userId: number): Promise<PasswordReset | undefined> {
      const token = randomBytes(32).toString('base64url')
      const { rows } = await pool.query<{ expiresAt: Date }>(ISSUE_RESET, [
        userId,
        sha256(token),
        RESET_TTL_SECONDS,
      ])
      return rows[0] && { token, expiresAt: rows[0].expiresAt }
    },

    async isResetValid(token: string): Promise<boolean> {
      const { rowCount } = await pool.query(RESET_USER, [sha256(token)])
      return rowCount === 1
    },

    /** Ends all sessions. False if the token is unknown, used or expired, or its user is disabled. */
    useReset: (token: string, passwordHash: string): Promise<boolean> =>
      withTransaction(pool, async (session) => {
        const { rows } = await session.query<{ id: number }>(`${RESET_USER} FOR NO KEY UPDATE OF u`, [
          sha256(token),
        ])
        const userId = rows[0]?.id
        if (userId === undefined) return false
        const { rowCount } = await session.query(USE_RESET, [sha256(token)])
        if (rowCount !== 1) return false
        await session.query('UPDATE users SET password_hash = $2 WHERE id = $1', [userId, passwordHash])
        await session.query(END_SESSIONS, [userId, null])
        return true
      }),
  }
}

const CHANGE =
  'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 AND disabled_at IS NULL'

const ISSUE_RESET = `
INSERT INTO password_resets (user_id, hash, expires_at)
SELECT id, $2, now() + make_interval(secs => $3) FROM users WHERE id = $1 AND disabled_at IS NULL FOR SHARE
ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, created_at = now(), expires_at = excluded.expires_at
RETURNING expires_at AS "expiresAt"`

const isValid = 'hash = $1 AND expires_at > now()'
const RESET_USER = `
SELECT u.id FROM users u WHERE u.id = (SELECT user_id FROM password_resets WHERE ${isValid}) AND u.disabled_at IS NULL`
const USE_RESET = `DELETE FROM password_resets WHERE ${isValid}`
