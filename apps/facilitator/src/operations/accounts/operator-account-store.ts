import { type Pool } from '@tollgate/database'
import { createInvitationStore } from '../../invitations/store'

export type ListedUser = {
  id: number
  email: string
  isAdmin: boolean
  isDisabled: boolean
  /** In hundredths of a percent of each network's daily fees; null: the configured share of new users. */
  feeShareBps: number | null
  liveKeys: number
  createdAt: Date
}

/** A user as the API shows it. */
export type OperatorUserRow = Omit<ListedUser, 'isDisabled'> & { disabledAt: Date | null }

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

  /** The user's email; undefined if there is no such user. */
  async function updateUser(text: string, name: UserName, ...more: unknown[]): Promise<string | undefined> {
    const { rows } = await pool.query<{ email: string }>(text, [...valuesOf(name), ...more])
    return rows[0]?.email
  }

  return {
    /** Oldest first, with the total count. */
    async list(limit: number): Promise<{ users: ListedUser[]; total: number }> {
      const { rows } = await pool.query<ListedUser & { total: bigint }>(
        `SELECT id, email, is_admin AS "isAdmin", disabled_at IS NOT NULL AS "isDisabled", fee_share_bps AS "feeShareBps",
           (SELECT count(*) FROM clients c WHERE c.user_id = u.id AND c.deleted_at IS NULL
              AND (c.expires_at IS NULL OR c.expires_at > now()))::int AS "liveKeys",
           created_at AS "createdAt", count(*) OVER () AS total
         FROM users u ORDER BY id LIMIT $1`,
        [limit],
      )
      const users = rows.map(({ total, ...user }) => ({ total, user }))
      return { users: users.map(({ user }) => user), total: Number(users[0]?.total ?? 0n) }
    },

    /** Oldest first; only users whose email begins with `email`, in lower case. */
    async page({ offset, limit, email }: { offset: number; limit: number; email?: string | undefined }) {
      const { rows } = await pool.query<OperatorUserRow>(
        `SELECT ${COLUMNS} FROM users u WHERE $3::text IS NULL OR starts_with(email, $3) ORDER BY id OFFSET $1 LIMIT $2`,
        [offset, limit, email ?? null],
      )
      return rows
    },

    async find(id: number): Promise<OperatorUserRow | undefined> {
      const { rows } = await pool.query<OperatorUserRow>(`SELECT ${COLUMNS} FROM users u WHERE id = $1`, [id])
      return rows[0]
    },

    allow: (name: UserName, feeShareBps: number) =>
      updateUser(`UPDATE users SET fee_share_bps = $3 WHERE ${NAMED} RETURNING email`, name, feeShareBps),

    disable: (name: UserName) =>
      updateUser(
        `WITH disabled AS (
           UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE ${NAMED} RETURNING id, email
         ), revoked AS (
           DELETE FROM refresh_tokens WHERE user_id IN (SELECT id FROM disabled)
         )
         SELECT email FROM disabled`,
        name,
      ),

    async findActive(name: UserName): Promise<number | undefined> {
      const { rows } = await pool.query<{ id: number }>(
        `SELECT id FROM users WHERE ${NAMED} AND disabled_at IS NULL`,
        valuesOf(name),
      )
      return rows[0]?.id
    },

    enable: (name: UserName) =>
      updateUser(`UPDATE users SET disabled_at = NULL WHERE ${NAMED} RETURNING email`, name),

    revokeRefreshTokens: (name: UserName) =>
      updateUser(
        `WITH named AS (SELECT id, email FROM users WHERE ${NAMED}), revoked AS (
           DELETE FROM refresh_tokens WHERE user_id IN (SELECT id FROM named)
         )
         SELECT email FROM named`,
        name,
      ),

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
