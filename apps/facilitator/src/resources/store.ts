import { type FacilitatorDatabase } from '@tollgate/database'
import { type AcceptedPayment, type ResourceRegistration } from '@tollgate/protocol'
import { DISCOVERED, type Discovered, type DiscoveredRow } from './discovery-sql'

/** More than a shop has routes, and few enough that one user cannot crowd out the others' lists. */
export const MAX_RESOURCES = 10_000

export type Resource = ResourceRegistration & {
  id: number
  userId: number
  /** The public name of the user that registered it. */
  owner: string
  createdAt: Date
  updatedAt: Date
}

export type ResourceStore = ReturnType<typeof createResourceStore>

const columns = `resources.id, resource, type, x402_version as "x402Version", accepts, metadata,
  resources.created_at as "createdAt", updated_at as "updatedAt", user_id as "userId", users.handle as owner`

/** Resources are updated, never deleted, so that pages by offset stay stable. */
export function createResourceStore({ pool }: Pick<FacilitatorDatabase, 'pool'>) {
  return {
    /** The number of the new resource; undefined where the user has {@link MAX_RESOURCES} already, however many ask at once. */
    async create(userId: number, registration: ResourceRegistration, now: Date): Promise<number | undefined> {
      const { rows } = await pool.query<{ id: number }>(
        `WITH owner AS (
           UPDATE users SET resource_count = resource_count + 1 WHERE id = $1 AND resource_count < $2 RETURNING id
         )
         INSERT INTO resources (user_id, resource, type, x402_version, accepts, metadata, created_at, updated_at)
         SELECT id, $3, $4, $5, $6, $7, $8, $8 FROM owner RETURNING id`,
        [userId, MAX_RESOURCES, ...valuesOf(registration), now],
      )
      return rows[0]?.id
    },

    /**
     * Replaces the whole record where it is the user's own or the user is an admin, and answers whose it is; undefined where it
     * is not, or is not there.
     */
    async update(
      id: number,
      userId: number,
      registration: ResourceRegistration,
      now: Date,
    ): Promise<{ userId: number } | undefined> {
      const { rows } = await pool.query<{ userId: number }>(
        `UPDATE resources
         SET resource = $3, type = $4, x402_version = $5, accepts = $6, metadata = $7, updated_at = $8
         WHERE id = $1 AND (user_id = $2 OR EXISTS (SELECT FROM users WHERE users.id = $2 AND is_admin))
         RETURNING user_id AS "userId"`,
        [id, userId, ...valuesOf(registration), now],
      )
      return rows[0]
    },

    async exists(id: number): Promise<boolean> {
      const { rowCount } = await pool.query('SELECT FROM resources WHERE id = $1', [id])
      return rowCount === 1
    },

    /** Oldest first. Without `userId`: of all users. */
    async list(page: { userId?: number; offset: number; limit: number }): Promise<Resource[]> {
      const { userId, offset, limit } = page
      const { rows } = await pool.query<Resource>(
        `SELECT ${columns} FROM resources JOIN users ON users.id = user_id
         ${userId === undefined ? '' : 'WHERE user_id = $3'}
         ORDER BY resources.id LIMIT $1 OFFSET $2`,
        userId === undefined ? [limit, offset] : [limit, offset, userId],
      )
      return rows
    },

    /** A page of those that can be paid for as they stand, oldest first, and how many there are, as of one moment. */
    async discover(wanted: {
      x402Version: number
      /** Those on which payments are shown, by name; and of these, those whose tokens are only payable in a known domain. */
      networks: readonly string[]
      withDomain: readonly string[]
      /** In the spelling of the network; undefined: any recipient. */
      payTo: string | undefined
      offset: number
      limit: number
    }): Promise<{ total: number; resources: Discovered[] }> {
      const { x402Version, networks, withDomain, payTo = null, offset, limit } = wanted
      const { rows } = await pool.query<DiscoveredRow>(DISCOVERED, [
        x402Version,
        networks,
        withDomain,
        payTo,
        limit,
        offset,
      ])
      return {
        total: rows[0]?.total ?? 0,
        resources: rows.filter((row): row is Discovered & { total: number } => row.id !== null),
      }
    },
  }
}

const valuesOf = ({ resource, type, x402Version, accepts, metadata }: ResourceRegistration) => [
  resource,
  type,
  x402Version,
  JSON.stringify(accepts satisfies AcceptedPayment[]),
  JSON.stringify(metadata),
]
