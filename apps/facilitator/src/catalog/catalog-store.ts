import { type FacilitatorDatabase, type PoolClient } from '@tollgate/database'
import { type AcceptedPayment } from '@tollgate/protocol'
import { inShortTransaction } from '../settlement/short-transaction'

/** Entries of one user, and of one recipient of that user. The least recently paid make room for new ones. */
export const MAX_OF_USER = 1_000
export const MAX_OF_PAY_TO = 200
/** Payment options of an entry. */
const MAX_OFFERS = 16
/** A busy resource is not written for every payment. */
const UNCHANGED_FOR = "interval '1 hour'"

export type CatalogEntry = {
  userId: number
  x402Version: 1 | 2
  resource: string
  origin: string
  type: 'http' | 'mcp'
  operation: string
  /** What was paid. */
  accepted: AcceptedPayment
  details: Record<string, unknown>
  declared: Record<string, unknown>
  paidAt: Date
}

/** $1 to $12 as in `valuesOf`. Returns a row if it inserted or changed one. */
const UPSERT = `
INSERT INTO cataloged_resources AS known (user_id, x402_version, resource, origin, type, operation, pay_to, accepts,
  offers, details, declared, last_paid_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, jsonb_build_array($8::jsonb), ARRAY[$9::text], $10, $11, $12)
ON CONFLICT (user_id, x402_version, resource, type, operation, pay_to) DO UPDATE SET
  accepts = excluded.accepts || coalesce((
    SELECT jsonb_agg(way ORDER BY place) FROM (
      SELECT way, place FROM jsonb_array_elements(known.accepts) WITH ORDINALITY AS ways (way, place)
      WHERE known.offers[place::int] <> $9 ORDER BY place LIMIT ${MAX_OFFERS - 1}) AS kept), '[]'),
  offers = excluded.offers || ARRAY(
    SELECT offer FROM unnest(known.offers) WITH ORDINALITY AS offers (offer, place)
    WHERE offer <> $9 ORDER BY place LIMIT ${MAX_OFFERS - 1}),
  details = excluded.details, declared = excluded.declared, last_paid_at = excluded.last_paid_at
WHERE excluded.last_paid_at >= known.last_paid_at AND (
  NOT known.accepts @> excluded.accepts OR known.details <> excluded.details OR known.declared <> excluded.declared
  OR excluded.last_paid_at > known.last_paid_at + ${UNCHANGED_FOR})
RETURNING id`

const LOCK_USER = 'SELECT FROM users WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE'

/** $1 user. */
const TRIM = `
DELETE FROM cataloged_resources WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER (ORDER BY last_paid_at DESC, id DESC) AS place,
      row_number() OVER (PARTITION BY pay_to ORDER BY last_paid_at DESC, id DESC) AS place_of_pay_to
    FROM cataloged_resources WHERE user_id = $1
  ) AS ranked
  WHERE place > ${MAX_OF_USER} OR place_of_pay_to > ${MAX_OF_PAY_TO})`

export type CatalogStore = ReturnType<typeof createCatalogStore>

export function createCatalogStore({ pool }: Pick<FacilitatorDatabase, 'pool'>) {
  return {
    /** Locks the user, so that the bounds also hold when replicas write at once. Does nothing if it deleted its account. */
    catalog: (entry: CatalogEntry): Promise<void> =>
      inShortTransaction(pool, async (client: PoolClient) => {
        const { rowCount: users } = await client.query(LOCK_USER, [entry.userId])
        if (users !== 1) return
        const { rowCount } = await client.query(UPSERT, valuesOf(entry))
        if (rowCount === 1) await client.query(TRIM, [entry.userId])
      }),
  }
}

const valuesOf = (entry: CatalogEntry) => {
  const { userId, x402Version, resource, origin, type, operation, accepted, details, declared, paidAt } =
    entry
  const { network, asset, payTo } = accepted
  return [
    userId,
    x402Version,
    resource,
    origin,
    type,
    operation,
    payTo,
    JSON.stringify(accepted),
    `${network} ${asset}`,
    JSON.stringify(details),
    JSON.stringify(declared),
    paidAt,
  ]
}
