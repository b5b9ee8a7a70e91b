/** A way to pay that is open now, with the EIP-712 domain of its asset, where that has one. */
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

/** A row without an `id` says that the page is empty. */
export type DiscoveredRow = { total: number } & (Discovered | { id: null })

/**
 * $1 version, $2 networks, $3 those of them whose assets need a domain, $4 payTo or null, $5 limit, $6 offset.
 *
 * One statement, so that the total is that of the very list the page is cut from.
 */
export const DISCOVERED = `
with active as (
  select network, asset, name, version from assets
  where active and network = any($2) and (network <> all($3) or (name is not null and version is not null))
), listed as materialized (
  select id from resources
  where x402_version = $1 and type in ('http', 'endpoint') and resource like 'http%'
    and exists (
      select from jsonb_array_elements(accepts) as way join active
        on active.network = way ->> 'network' and active.asset = way ->> 'asset'
      where $4::text is null or way ->> 'payTo' = $4
    )
), page as (
  select id from listed order by id limit $5 offset $6
)
select counted.total, resources.id, resource, metadata, updated_at as "updatedAt",
  (
    select jsonb_agg(way || to_jsonb(active) order by place)
    from jsonb_array_elements(accepts) with ordinality as ways (way, place) join active
      on active.network = way ->> 'network' and active.asset = way ->> 'asset'
  ) as accepts
from (select count(*)::int as total from listed) as counted
  left join (page join resources using (id)) on true
order by resources.id`
