import { type Pool } from '@tollgate/database'

export type DeniedAddress = { address: string; note: string | null; createdAt: Date }

export type DeniedAddressStore = ReturnType<typeof createDeniedAddressStore>

const columns = `address, note, created_at AS "createdAt"`

/** Addresses are in the canonical spelling of their chain family. */
export function createDeniedAddressStore(pool: Pool) {
  return {
    /** An address that is denied already keeps its note if there is no new one. */
    async add(address: string, note: string | null): Promise<DeniedAddress> {
      const { rows } = await pool.query<DeniedAddress>(
        `INSERT INTO denied_addresses (address, note) VALUES ($1, $2)
         ON CONFLICT (address) DO UPDATE SET note = coalesce(excluded.note, denied_addresses.note)
         RETURNING ${columns}`,
        [address, note],
      )
      const [denied] = rows
      if (!denied) throw new Error('Postgres returned no denied address')
      return denied
    },

    /** Newest first. */
    async list({ offset, limit }: { offset: number; limit: number }): Promise<DeniedAddress[]> {
      const { rows } = await pool.query<DeniedAddress>(
        `SELECT ${columns} FROM denied_addresses ORDER BY created_at DESC, address OFFSET $1 LIMIT $2`,
        [offset, limit],
      )
      return rows
    },

    /** False if the address is not denied. */
    async remove(address: string): Promise<boolean> {
      const { rowCount } = await pool.query('DELETE FROM denied_addresses WHERE address = $1', [address])
      return rowCount === 1
    },
  }
}
