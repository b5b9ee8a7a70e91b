import { type FacilitatorDatabase } from '@tollgate/database'
import { type AcceptedPayment, type ResourceRegistration } from '@tollgate/protocol'
import { COUNTED, DISCOVERED, type Discovered, type DiscoveredRow } from './discovery-sql'
import { SEARCHED_ALL, SEARCHED_ANY } from './search-sql'
import { createTotals } from './totals'

/** Enough for every route of a merchant, and too few to crowd out others in the lists. */
export const MAX_RESOURCES = 10_000

export type Resource = ResourceRegistration & {
  id: number
  userId: number
  owner: string
  createdAt: Date
  updatedAt: Date
}

export type ResourceStore = ReturnType<typeof createResourceStore>

const columns = `resources.id, resource, type, x402_version as "x402Version", accepts, metadata,
  resources.created_at as "createdAt", updated_at as "updatedAt", user_id as "userId", users.handle as owner`

export type Wanted = {
  x402Version: number
  /** Served networks, by name, and those whose tokens need an EIP-712 domain. */
  networks: readonly string[]
  withDomain: readonly string[]
  payTo: string | undefined
  type: 'http' | 'mcp' | undefined
  includeRegistered: boolean
  offset: number
  limit: number
  now: Date
}

type DiscoveredPage = { total: number; isPartial: boolean; resources: Discovered[] }

/** Registered resources are deleted only with their account, so that pages by offset stay stable. */
export function createResourceStore({ pool }: Pick<FacilitatorDatabase, 'pool'>) {
  async function pageOf(text: string, values: unknown[]): Promise<DiscoveredPage> {
    const { rows } = await pool.query<DiscoveredRow>(text, values)
    return {
      total: rows[0]?.total ?? 0,
      isPartial: rows[0]?.isPartial ?? false,
      resources: rows.filter((row): row is DiscoveredRow & Discovered => row.id !== null),
    }
  }

  const totalOf = createTotals(async (filters: FilterValues, now) => {
    const { rows } = await pool.query<{ total: number }>(COUNTED, [...filters, now])
    return rows[0]?.total ?? 0
  })

  return {
    /**
     * The id of the new resource; undefined if the user already has {@link MAX_RESOURCES}, also under
     * concurrency, or has deleted its account.
     */
    async create(userId: number, registration: ResourceRegistration, now: Date): Promise<number | undefined> {
      const { rows } = await pool.query<{ id: number }>(
        `WITH owner AS (
           UPDATE users SET resource_count = resource_count + 1 WHERE id = $1 AND resource_count < $2 AND deleted_at IS NULL
           RETURNING id
         )
         INSERT INTO resources (user_id, resource, type, x402_version, accepts, metadata, created_at, updated_at)
         SELECT id, $3, $4, $5, $6, $7, $8, $8 FROM owner RETURNING id`,
        [userId, MAX_RESOURCES, ...valuesOf(registration), now],
      )
      return rows[0]?.id
    },

    /**
     * Replaces the record and returns its user id; undefined if it does not exist or belongs to another user
     * (unless an admin updates it).
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

    async list(page: { userId?: number; offset: number; limit: number }): Promise<Resource[]> {
      const { userId, offset, limit } = page
      const { rows } = await pool.query<Resource>(
        `SELECT ${columns} FROM resources JOIN users ON users.id = user_id
         WHERE ${userId === undefined ? 'users.disabled_at IS NULL' : 'user_id = $3'}
         ORDER BY resources.id LIMIT $1 OFFSET $2`,
        userId === undefined ? [limit, offset] : [limit, offset, userId],
      )
      return rows
    },

    /** A page of resources that can be paid now, and their total: exact, or of a long list up to 30 s old. */
    async discover(wanted: Wanted): Promise<DiscoveredPage> {
      const { now, limit, offset } = wanted
      const filters = filterValuesOf(wanted)
      const page = await pageOf(DISCOVERED, [...filters, now, limit, offset])
      if (!page.isPartial) return page
      return { ...page, isPartial: false, total: Math.max(page.total, await totalOf(filters, now)) }
    },

    /** The same for what has all words, or, if nothing has, any of them; the best matches first. */
    async search(wanted: Wanted, words: string): Promise<DiscoveredPage> {
      const { now, limit, offset } = wanted
      const values = [...filterValuesOf(wanted), now, limit, offset, words]
      const found = await pageOf(SEARCHED_ALL, values)
      return found.total > 0 ? found : pageOf(SEARCHED_ANY, values)
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

type FilterValues = ReturnType<typeof filterValuesOf>
const filterValuesOf = (wanted: Wanted) => {
  const { x402Version, networks, withDomain, payTo = null, type = null, includeRegistered } = wanted
  return [x402Version, networks, withDomain, payTo, type, includeRegistered] as const
}
