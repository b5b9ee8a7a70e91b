import { withTransaction, type Pool } from '@tollgate/database'
import { createInvitationStore } from '../../invitations/store'
import { createPasswordStore, type PasswordReset } from '../../users/password-store'
import { END_SESSIONS } from '../../users/session-store'

export type ListedUser = {
  id: number
  email: string
  isAdmin: boolean
  isDisabled: boolean
  isDeleted: boolean
  /** In hundredths of a percent of each network's daily fees; null: the configured share of new users. */
  feeShareBps: number | null
  liveKeys: number
  createdAt: Date
}

/** A user as the API shows it. */
export type OperatorUserRow = Omit<ListedUser, 'isDisabled' | 'isDeleted'> & { disabledAt: Date | null }

export type UserName = { id: number } | { email: string }

export type AccountStore = ReturnType<typeof createAccountStore>

const NAMED = '(id = $1 or email = $2)'
const valuesOf = (name: UserName) => ('id' in name ? [name.id, null] : [null, name.email])

const DAY_SECONDS = 86_400

const COLUMNS = `id, email, is_admin AS "isAdmin", fee_share_bps AS "feeShareBps", disabled_at AS "disabledAt",
  (SELECT count(*) FROM clients c WHERE c.user_id = u.id AND c.deleted_at IS NULL
     AND (c.expires_at IS NULL OR c.expires_at > now()))::int AS "liveKeys", created_at AS "createdAt"`

export function createAccountStore(pool: Pool) {
  const invitations = createInvitationStore(pool)
  const passwords = createPasswordStore(pool)

  /** The user's email; undefined if there is no such user. */
  async function updateUser(text: string, name: UserName, ...more: unknown[]): Promise<string | undefined> {
    const { rows } = await pool.query<{ email: string }>(text, [...valuesOf(name), ...more])
    return rows[0]?.email
  }

  /** Locks the user first, so that the session of a concurrent login ends, too. */
  const endSessions = (lockUser: string, name: UserName): Promise<string | undefined> =>
    withTransaction(pool, async (session) => {
      const { rows } = await session.query<{ id: number; email: string }>(lockUser, valuesOf(name))
      const [user] = rows
      if (user) await session.query(END_SESSIONS, [user.id, null])
      return user?.email
    })

  async function findActive(name: UserName): Promise<number | undefined> {
    const { rows } = await pool.query<{ id: number }>(
      `SELECT id FROM users WHERE ${NAMED} AND disabled_at IS NULL`,
      valuesOf(name),
    )
    return rows[0]?.id
  }

  return {
    /** Oldest first, with the total count. */
    async list(limit: number): Promise<{ users: ListedUser[]; total: number }> {
      const { rows } = await pool.query<ListedUser & { total: bigint }>(
        `SELECT id, email, is_admin AS "isAdmin", disabled_at IS NOT NULL AS "isDisabled",
           deleted_at IS NOT NULL AS "isDeleted", fee_share_bps AS "feeShareBps",
           (SELECT count(*) FROM clients c WHERE c.user_id = u.id AND c.deleted_at IS NULL
              AND (c.expires_at IS NULL OR c.expires_at > now()))::int AS "liveKeys",
           created_at AS "createdAt", count(*) OVER () AS total
         FROM users u ORDER BY id LIMIT $1`,
        [limit],
      )
      const users = rows.map(({ total, ...user }) => ({ total, user }))
      return { users: users.map(({ user }) => user), total: Number(users[0]?.total ?? 0n) }
    },

    /** Oldest first, without deleted ones; only users whose email begins with `email`, in lower case. */
    async page({ offset, limit, email }: { offset: number; limit: number; email?: string | undefined }) {
      const { rows } = await pool.query<OperatorUserRow>(
        `SELECT ${COLUMNS} FROM users u
         WHERE deleted_at IS NULL AND ($3::text IS NULL OR starts_with(email, $3)) ORDER BY id OFFSET $1 LIMIT $2`,
        [offset, limit, email ?? null],
      )
      return rows
    },

    async find(id: number): Promise<OperatorUserRow | undefined> {
      const { rows } = await pool.query<OperatorUserRow>(
        `SELECT ${COLUMNS} FROM users u WHERE id = $1 AND deleted_at IS NULL`,
        [id],
      )
      return rows[0]
    },

    allow: (name: UserName, feeShareBps: number) =>
      updateUser(`UPDATE users SET fee_share_bps = $3 WHERE ${NAMED} RETURNING email`, name, feeShareBps),

    /** Also ends a password reset, so that its token is of no use once the user is enabled again. */
    disable: (name: UserName) =>
      endSessions(
        `WITH disabled AS (
           UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE ${NAMED} RETURNING id, email
         ), ended AS (DELETE FROM password_resets WHERE user_id IN (SELECT id FROM disabled))
         SELECT id, email FROM disabled`,
        name,
      ),

    findActive,

    /** Not one that deleted its account. */
    enable: (name: UserName) =>
      updateUser(
        `UPDATE users SET disabled_at = NULL WHERE ${NAMED} AND deleted_at IS NULL RETURNING email`,
        name,
      ),

    endSessions: (name: UserName) =>
      endSessions(`SELECT id, email FROM users WHERE ${NAMED} FOR NO KEY UPDATE`, name),

    /** Undefined if there is no such user, or it is disabled. */
    async resetPassword(name: UserName): Promise<PasswordReset | undefined> {
      const id = await findActive(name)
      return id === undefined ? undefined : passwords.issueReset(id)
    },

    /** False if there is no such key. */
    async allowClient(clientId: string, feeShareBps: number): Promise<boolean> {
      const { rowCount } = await pool.query(
        'UPDATE clients SET fee_share_bps = $2 WHERE client_id = $1 AND deleted_at IS NULL',
        [clientId, feeShareBps],
      )
      return rowCount === 1
    },

    /** Returns the code, of which only the hash is stored. */
    async invite(days: number, email: string | null = null): Promise<string> {
      return (await invitations.create({ email, ttlSeconds: days * DAY_SECONDS })).code
    },
  }
}
