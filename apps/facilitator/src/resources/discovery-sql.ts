export type Payable = {
  network: string
  asset: string
  payTo: string
  maxAmountRequired: string
  name: string | null
  version: string | null
}

export type Discovered = {
  id: number
  resource: string
  metadata: Record<string, unknown>
  updatedAt: Date
  accepts: Payable[]
}

/** A row without an `id` means an empty page. */
export type DiscoveredRow = { total: number } & (Discovered | { id: null })

/**
 * $1 version, $2 networks, $3 those of them whose assets need a domain, $4 payTo or null, $5 limit, $6
 * offset.
 *
 * One statement, so that total and page are from the same snapshot.
 */
export const DISCOVERED = `
WITH active AS (
  SELECT network, asset, name, version FROM assets
  WHERE active AND network = ANY($2) AND (network <> ALL($3) OR (name IS NOT NULL AND version IS NOT NULL))
), listed AS MATERIALIZED (
  SELECT id FROM resources
  WHERE x402_version = $1 AND type IN ('http', 'endpoint') AND resource LIKE 'http%'
    AND EXISTS (
      SELECT FROM jsonb_array_elements(accepts) AS way JOIN active
        ON active.network = way ->> 'network' AND active.asset = way ->> 'asset'
      WHERE $4::text IS NULL OR way ->> 'payTo' = $4
    )
), page AS (
  SELECT id FROM listed ORDER BY id LIMIT $5 OFFSET $6
)
SELECT counted.total, resources.id, resource, metadata, updated_at AS "updatedAt",
  (
    SELECT jsonb_agg(way || to_jsonb(active) ORDER BY place)
    FROM jsonb_array_elements(accepts) WITH ordinality AS ways (way, place) JOIN active
      ON active.network = way ->> 'network' AND active.asset = way ->> 'asset'
  ) AS accepts
FROM (SELECT count(*)::int AS total FROM listed) AS counted
  LEFT JOIN (page JOIN resources USING (id)) ON true
ORDER BY resources.id`
