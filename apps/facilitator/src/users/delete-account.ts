import { withTransaction, type Pool } from '@tollgate/database'
import { deleteEndpointsOf } from '@tollgate/webhooks'
import { END_SESSIONS } from './session-store'

/** Tables with rows of a user that go with its account. What stays, and why: docs/retention.md. */
export const DELETED_WITH_ACCOUNT = [
  'password_resets',
  'resources',
  'resource_origins',
  'cataloged_resources',
  'reserved_recipients',
] as const

/**
 * Revokes the user's keys, ends its sessions and webhooks, deletes its records and empties its row, which its settlements refer to. Claimed
 * settlements continue. False if `passwordHash` is not the user's any more, or the user is disabled.
 *
 * The first statement locks the row. Each statement that adds a record of a user locks it, too, and adds none once it is deleted.
 */
export const deleteAccount = (
  pool: Pool,
  { userId, passwordHash }: { userId: number; passwordHash: string },
): Promise<boolean> =>
  withTransaction(pool, async (session) => {
    const { rows } = await session.query<{ email: string }>(LOCK, [userId, passwordHash])
    const [user] = rows
    if (!user) return false
    await session.query(EMPTY_USER, [userId])
    await session.query(REVOKE_KEYS, [userId])
    await session.query(END_SESSIONS, [userId, null])
    for (const table of DELETED_WITH_ACCOUNT)
      await session.query(`DELETE FROM ${table} WHERE user_id = $1`, [userId])
    await deleteEndpointsOf(String(userId), session)
    await session.query(EMPTY_INVITATIONS, [user.email])
    return true
  })

const LOCK = 'SELECT email FROM users WHERE id = $1 AND password_hash = $2 AND disabled_at IS NULL FOR UPDATE'

/** No sign-up and no login accepts such an email, and no password has such a hash. The fee share stays, for claimed settlements. */
const EMPTY_USER = `
UPDATE users
SET deleted_at = now(), disabled_at = now(), email = 'deleted-' || id, password_hash = '', is_admin = false,
  handle = gen_random_uuid(), resource_count = 0
WHERE id = $1`

/** The titles are texts of the user. */
const REVOKE_KEYS = `UPDATE clients SET deleted_at = coalesce(deleted_at, now()), title = '' WHERE user_id = $1`

const EMPTY_INVITATIONS = 'UPDATE invitations SET email = NULL WHERE email = $1 AND used_at IS NOT NULL'
