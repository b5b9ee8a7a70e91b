import { MAX_SEARCHED } from '@tollgate/protocol'

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
 * payTo or null, $5 limit, $6 offset, $7 type or null, $8 whether registered resources are wanted, $9 now.
 */
const ACTIVE = `
active AS (
  SELECT network, asset, name, version FROM assets
  WHERE active AND network = ANY($2) AND (network <> ALL($3) OR (name IS NOT NULL AND version IS NOT NULL))
)`

const REGISTERED = `
  x402_version = $1 AND $8 AND type IN ('http', 'endpoint') AND resource LIKE 'http%'
  AND ($4::text IS NULL OR accepts @> jsonb_build_array(jsonb_build_object('payTo', $4::text)))
  AND EXISTS (
    SELECT FROM jsonb_array_elements(accepts) AS way JOIN active
      ON active.network = way ->> 'network' AND active.asset = way ->> 'asset'
    WHERE $4::text IS NULL OR way ->> 'payTo' = $4
  )`

const isProven = (proof: string) => `${proof}.verified_at > $9::timestamptz - ${PROOF_HOLDS}`

const CATALOGED = `
  x402_version = $1 AND ($7::text IS NULL OR type = $7) AND ($4::text IS NULL OR pay_to = $4)
  AND offers && ARRAY(SELECT network || ' ' || asset FROM active)
  AND NOT EXISTS (SELECT FROM users WHERE users.id = user_id AND disabled_at IS NOT NULL)
  AND NOT EXISTS (
    SELECT FROM resource_origins AS proof
    WHERE proof.origin = cataloged_resources.origin AND proof.user_id <> cataloged_resources.user_id AND ${isProven('proof')}
      AND NOT EXISTS (
        SELECT FROM resource_origins AS own
        WHERE own.origin = cataloged_resources.origin AND own.user_id = cataloged_resources.user_id AND ${isProven('own')}
      )
  )`

/** The list has what a user registered once, not again from its payments. */
const IS_UNREGISTERED = `NOT EXISTS (
    SELECT FROM resources AS own
    WHERE own.user_id = cataloged_resources.user_id AND md5(own.resource) = md5(cataloged_resources.resource)
      AND own.x402_version = cataloged_resources.x402_version
  )`

/** The rows of `page (place, source, id)`, and facts of all matches. */
const answerOf = (facts: string) => `
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

/** One statement, so that total and page are from the same snapshot. Registered resources come first. */
export const DISCOVERED = `
WITH ${ACTIVE}, listed AS MATERIALIZED (
  SELECT 'registered' AS source, id FROM resources WHERE ${REGISTERED}
  UNION ALL
  SELECT 'cataloged', id FROM cataloged_resources WHERE ${CATALOGED} AND ${IS_UNREGISTERED}
), page AS (
  SELECT row_number() OVER (ORDER BY source DESC, id) AS place, source, id FROM listed
  ORDER BY source DESC, id LIMIT $5 OFFSET $6
), ${answerOf('SELECT count(*)::int AS total, false AS "isPartial" FROM listed')}`

const WORDS = {
  resources: "discovery_words(resource, metadata, '')",
  cataloged_resources:
    "discovery_words(resource, details, operation || ' ' || coalesce(declared #>> '{info,input,description}', ''))",
}

const ALL_WORDS = "plainto_tsquery('english'::regconfig, $10)"
/** The text of a query has its words in quotes. */
const ANY_WORD = `replace(${ALL_WORDS}::text, '&', '|')::tsquery`

/** Ranks at most MAX_SEARCHED matches of each source, so that a common word costs no more than a rare one. */
const searched = (query: string) => `
WITH ${ACTIVE}, matched AS MATERIALIZED (
  (SELECT 'registered' AS source, id, ${WORDS.resources} AS words FROM resources
   WHERE ${WORDS.resources} @@ ${query} AND ${REGISTERED} LIMIT ${MAX_SEARCHED})
  UNION ALL
  (SELECT 'cataloged', id, ${WORDS.cataloged_resources} FROM cataloged_resources
   WHERE ${WORDS.cataloged_resources} @@ ${query} AND ${CATALOGED} LIMIT ${MAX_SEARCHED})
), ranked AS (
  SELECT row_number() OVER (ORDER BY ts_rank(words, ${query}) DESC, source DESC, id) AS place, source, id FROM matched
), page AS (
  SELECT place, source, id FROM ranked ORDER BY place LIMIT $5 OFFSET $6
), ${answerOf(`SELECT count(*)::int AS total,
  coalesce(greatest(count(*) FILTER (WHERE source = 'registered'), count(*) FILTER (WHERE source = 'cataloged')) >= ${MAX_SEARCHED}, false) AS "isPartial"
  FROM matched`)}`

/** $10 the words. */
export const SEARCHED_ALL = searched(ALL_WORDS)
export const SEARCHED_ANY = searched(ANY_WORD)
