import { withTransaction, type Pool, type PoolClient } from '@tollgate/database'

/** What an address was reserved with. */
type Proof = 'signature' | 'operator'

export type Recipient = {
  id: number
  userId: number
  network: string
  /** In the canonical spelling of its chain family. */
  address: string
  proof: Proof
  createdAt: Date
}

/** Per user. */
export const MAX_RECIPIENTS = 1_000

export type RecipientStore = ReturnType<typeof createRecipientStore>

const columns = `id, user_id AS "userId", network, address, proof, created_at AS "createdAt"`

/** Counts under a lock of the user, so that concurrent calls cannot exceed the maximum. */
const LOCK_USER = 'SELECT FROM users WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE'
const FIND = `SELECT ${columns} FROM reserved_recipients WHERE network = $1 AND address = $2`
const COUNT = 'SELECT count(*)::int AS count FROM reserved_recipients WHERE user_id = $1'
const RESERVE = `
INSERT INTO reserved_recipients (user_id, network, address, proof) VALUES ($1, $2, $3, $4)
ON CONFLICT (network, address) DO NOTHING RETURNING ${columns}`

type NewRecipient = Omit<Recipient, 'id' | 'createdAt'>

/** Recipients that only client keys of one user settle payments to, on one network. */
export function createRecipientStore(pool: Pool) {
  return {
    /** The reservation of exactly one of any number of users. The same user gets it again. */
    reserve: (recipient: NewRecipient): Promise<Recipient | 'taken' | 'too-many' | 'no-account'> =>
      withTransaction(pool, async (session) => {
        const { userId, network, address, proof } = recipient
        const { rowCount } = await session.query(LOCK_USER, [userId])
        if (rowCount !== 1) return 'no-account'
        const earlier = await find(session, recipient)
        if (earlier) return earlier.userId === userId ? earlier : 'taken'
        const { rows: counts } = await session.query<{ count: number }>(COUNT, [userId])
        if ((counts[0]?.count ?? 0) >= MAX_RECIPIENTS) return 'too-many'
        const { rows } = await session.query<Recipient>(RESERVE, [userId, network, address, proof])
        return rows[0] ?? 'taken'
      }),

    /** Newest first. Without `userId`: of all users. */
    async list({
      userId = null,
      offset,
      limit,
    }: {
      userId?: number | null
      offset: number
      limit: number
    }): Promise<Recipient[]> {
      const { rows } = await pool.query<Recipient>(
        `SELECT ${columns} FROM reserved_recipients WHERE user_id = coalesce($1, user_id)
         ORDER BY id DESC OFFSET $2 LIMIT $3`,
        [userId, offset, limit],
      )
      return rows
    },

    /** False if there is no such reservation. Without `userId`: of any user. */
    async remove(id: number, userId: number | null = null): Promise<boolean> {
      const { rowCount } = await pool.query(
        'DELETE FROM reserved_recipients WHERE id = $1 AND user_id = coalesce($2, user_id)',
        [id, userId],
      )
      return rowCount === 1
    },
  }
}

async function find(
  session: PoolClient,
  { network, address }: Pick<Recipient, 'network' | 'address'>,
): Promise<Recipient | undefined> {
  return (await session.query<Recipient>(FIND, [network, address])).rows[0]
}
