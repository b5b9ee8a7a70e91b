import { type Pool } from '@tollgate/database'
import { randomBytes } from 'node:crypto'
import { sha256 } from '../digest'

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

/** A user as an operator names it: its id, or its email. */
export type UserName = { id: number } | { email: string }

export type AccountStore = ReturnType<typeof createAccountStore>

const NAMED = '(id = $1 or email = $2)'
const valuesOf = (name: UserName) => ('id' in name ? [name.id, null] : [null, name.email])

/** Users and client keys as operators change them. What a statement changes holds from then on, on every replica. */
export function createAccountStore(pool: Pool) {
  /** The email of the user; undefined where there is none of that name. */
  async function changed(text: string, name: UserName, ...more: unknown[]): Promise<string | undefined> {
    const { rows } = await pool.query<{ email: string }>(text, [...valuesOf(name), ...more])
    return rows[0]?.email
  }

  return {
    /** Oldest first, and how many there are in all. */
    async list(limit: number): Promise<{ users: ListedUser[]; total: number }> {
      const { rows } = await pool.query<ListedUser & { total: bigint }>(
        `select id, email, is_admin as "isAdmin", disabled_at is not null as "isDisabled", fee_share_bps as "feeShareBps",
           (select count(*) from clients c where c.user_id = u.id and c.deleted_at is null
              and (c.expires_at is null or c.expires_at > now()))::int as "liveKeys",
           created_at as "createdAt", count(*) over () as total
         from users u order by id limit $1`,
        [limit],
      )
      const users = rows.map(({ total, ...user }) => ({ total, user }))
      return { users: users.map(({ user }) => user), total: Number(users[0]?.total ?? 0n) }
    },

    allow: (name: UserName, feeShareBps: number) =>
      changed(`update users set fee_share_bps = $3 where ${NAMED} returning email`, name, feeShareBps),

    disable: (name: UserName) =>
      changed(
        `with disabled as (
           update users set disabled_at = coalesce(disabled_at, now()) where ${NAMED} returning id, email
         ), revoked as (
           delete from refresh_tokens where user_id in (select id from disabled)
         )
         select email from disabled`,
        name,
      ),

    enable: (name: UserName) =>
      changed(`update users set disabled_at = null where ${NAMED} returning email`, name),

    revokeRefreshTokens: (name: UserName) =>
      changed(
        `with named as (select id, email from users where ${NAMED}), revoked as (
           delete from refresh_tokens where user_id in (select id from named)
         )
         select email from named`,
        name,
      ),

    /** Whether there is such a key. */
    async allowClient(clientId: string, feeShareBps: number): Promise<boolean> {
      const { rowCount } = await pool.query(
        'update clients set fee_share_bps = $2 where client_id = $1 and deleted_at is null',
        [clientId, feeShareBps],
      )
      return rowCount === 1
    },

    /** The token of a new invitation, which is shown here and never again. */
    async invite(days: number): Promise<string> {
      const token = randomBytes(32).toString('base64url')
      await pool.query(
        'insert into invitations (hash, expires_at) values ($1, now() + make_interval(days => $2))',
        [sha256(token), days],
      )
      return token
    },
  }
}
