export type Payable = {
  network: string
  asset: string
  payTo: string
  maxAmountRequired: string
  name: string | null
  version: string | null
}

export type Discovered = {
  source: 'registered' | 'cataloged'
  id: number
  userId: number
  resource: string
  type: 'http' | 'mcp'
  /** Of a cataloged resource, its details. */
  metadata: Record<string, unknown>
  /** Null if it is registered. */
  declared: Record<string, unknown> | null
  updatedAt: Date
  accepts: Payable[]
}

/** A row without an `id` means an empty page. `isPartial`: matches were left out. */
export type DiscoveredRow = { total: number; isPartial: boolean } & (Discovered | { id: null })

/** An origin names its owners: for a week after that, the catalog lists no payment of other users for it. */
const PROOF_HOLDS = "interval '7 days'"

/**
 * Both sources, as the statements below select them. $1 version, $2 networks, $3 those of them whose assets need a domain, $4
 * payTo or null, $5 type or null, $6 whether registered resources are wanted, $7 now, $8 limit, $9 offset.
 */
export const ACTIVE = `
active AS (
  SELECT network, asset, name, version FROM assets
  WHERE active AND network = ANY($2) AND (network <> ALL($3) OR (name IS NOT NULL AND version IS NOT NULL))
)`

/** That no row is found: for a whole list, by a join. */
export const noneOfAll = (rows: string) => `NOT EXISTS (SELECT ${rows})`
/** The same for a page, by a look-up for each row: a join may read and sort the whole list first. */
const noneOfEach = (rows: string) => `coalesce((SELECT false ${rows} LIMIT 1), true)`
type None = typeof noneOfAll

/** An account that an operator disabled is not listed. */
const DISABLED = 'FROM users WHERE users.id = user_id AND disabled_at IS NOT NULL'

export const registered = (none: None) => `
  x402_version = $1 AND $6 AND type IN ('http', 'endpoint') AND resource LIKE 'http%'
  AND ${none(DISABLED)}
  AND ($4::text IS NULL OR accepts @> jsonb_build_array(jsonb_build_object('payTo', $4::text)))
  AND EXISTS (
    SELECT FROM jsonb_array_elements(accepts) AS way JOIN active
      ON active.network = way ->> 'network' AND active.asset = way ->> 'asset'
    WHERE $4::text IS NULL OR way ->> 'payTo' = $4
  )`

export const isProven = (proof: string) => `${proof}.verified_at > $7::timestamptz - ${PROOF_HOLDS}`

export const cataloged = (none: None) => `
  x402_version = $1 AND ($5::text IS NULL OR type = $5) AND ($4::text IS NULL OR pay_to = $4)
  AND offers && ARRAY(SELECT network || ' ' || asset FROM active)
  AND ${none(DISABLED)}
  AND ${none(`FROM resource_origins AS proof
    WHERE proof.origin = cataloged_resources.origin AND proof.user_id <> cataloged_resources.user_id AND ${isProven('proof')}
      AND NOT EXISTS (
        SELECT FROM resource_origins AS own
        WHERE own.origin = cataloged_resources.origin AND own.user_id = cataloged_resources.user_id AND ${isProven('own')}
      )`)}`

/** What a user registered is not shown again from its payments, if it is shown. `registered` is about `own` here. */
export const isShownOnce = (none: None, isMatch = 'true') =>
  none(`FROM resources AS own
    WHERE own.user_id = cataloged_resources.user_id AND md5(own.resource) = md5(cataloged_resources.resource)
      AND ${isMatch} AND ${registered(none)}`)

/** The rows of `page (place, source, id)`, and facts of all matches. */
export const answerOf = (facts: string) => `
found AS (
  SELECT place, source, resources.id, user_id, resource, 'http' AS type, metadata, NULL::jsonb AS declared, updated_at, accepts
  FROM page JOIN resources ON source = 'registered' AND resources.id = page.id
  UNION ALL
  SELECT place, source, cataloged_resources.id, user_id, resource, type, details, declared, last_paid_at, accepts
  FROM page JOIN cataloged_resources ON source = 'cataloged' AND cataloged_resources.id = page.id
)
SELECT facts.*, source, id, user_id AS "userId", resource, type, metadata, declared, updated_at AS "updatedAt",
  (
    SELECT jsonb_agg(way || to_jsonb(active) ORDER BY way_place)
    FROM jsonb_array_elements(accepts) WITH ordinality AS ways (way, way_place) JOIN active
      ON active.network = way ->> 'network' AND active.asset = way ->> 'asset'
  ) AS accepts
FROM (${facts}) AS facts LEFT JOIN found ON true
ORDER BY place`

const listed = (none: None) => `${cataloged(none)} AND ${isShownOnce(none)}`

/** Matches of each source that a page counts, so that the total of a short list is exact and of the page's snapshot. */
export const MAX_COUNTED = 1_000
const SCANNED = `greatest($8::bigint + $9::bigint, ${MAX_COUNTED})`

export const isCut = (scanned: string | number) =>
  `(SELECT count(*) FROM registered) >= ${scanned} OR (SELECT count(*) FROM cataloged) >= ${scanned} AS "isPartial"`

/**
 * Registered resources come first. Reads no more than the page needs and counts, so no cataloged ones if the registered ones are
 * enough: `isPartial` if `total` is too small.
 */
export const DISCOVERED = `
WITH ${ACTIVE}, registered AS MATERIALIZED (
  SELECT id FROM resources WHERE ${registered(noneOfEach)} ORDER BY id LIMIT ${SCANNED}
), cataloged AS MATERIALIZED (
  SELECT id FROM cataloged_resources WHERE ${listed(noneOfEach)} ORDER BY id
  LIMIT CASE WHEN (SELECT count(*) FROM registered) < ${SCANNED} THEN ${SCANNED} ELSE 0 END
), listed AS MATERIALIZED (
  SELECT 'registered' AS source, id FROM registered UNION ALL SELECT 'cataloged', id FROM cataloged
), page AS (
  SELECT row_number() OVER (ORDER BY source DESC, id) AS place, source, id FROM listed
  ORDER BY source DESC, id LIMIT $8 OFFSET $9
), ${answerOf(`SELECT count(*)::int AS total, ${isCut(SCANNED)} FROM listed`)}`

/** The number of all matches. Without $8 and $9. */
export const COUNTED = `
WITH ${ACTIVE}
SELECT (SELECT count(*) FROM resources WHERE ${registered(noneOfAll)})::int
  + (SELECT count(*) FROM cataloged_resources WHERE ${listed(noneOfAll)})::int AS total`
