import { randomBytes } from 'node:crypto'
import { type Pool } from '@tollgate/database'
import { sha256 } from '../digest'

export type Invitation = {
  id: number
  /** The only email that may use it; null: any. */
  email: string | null
  createdAt: Date
  /** Null: never. */
  expiresAt: Date | null
  usedAt: Date | null
}

export type InvitationStore = ReturnType<typeof createInvitationStore>

const columns = `id, email, created_at AS "createdAt", expires_at AS "expiresAt", used_at AS "usedAt"`

/** Stores only the SHA-256 of the codes. A sign-up uses an invitation in the transaction that creates the user: see the user store. */
export function createInvitationStore(pool: Pool) {
  return {
    /** `code` is not stored and cannot be shown again. */
    async create({
      email,
      ttlSeconds,
    }: {
      email: string | null
      ttlSeconds: number | null
    }): Promise<{ invitation: Invitation; code: string }> {
      const code = randomBytes(32).toString('base64url')
      const { rows } = await pool.query<Invitation>(
        `INSERT INTO invitations (hash, email, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))
         RETURNING ${columns}`,
        [sha256(code), email, ttlSeconds],
      )
      const [invitation] = rows
      if (!invitation) throw new Error('Postgres returned no invitation')
      return { invitation, code }
    },

    /** Newest first. */
    async list({ offset, limit }: { offset: number; limit: number }): Promise<Invitation[]> {
      const { rows } = await pool.query<Invitation>(
        `SELECT ${columns} FROM invitations ORDER BY id DESC OFFSET $1 LIMIT $2`,
        [offset, limit],
      )
      return rows
    },

    /** False if there is no such invitation or it was used. */
    async remove(id: number): Promise<boolean> {
      const { rowCount } = await pool.query('DELETE FROM invitations WHERE id = $1 AND used_at IS NULL', [id])
      return rowCount === 1
    },
  }
}
