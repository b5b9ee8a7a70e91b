import { type Position } from './cursor'
import {
  checked,
  claimedAtSql,
  clientConditions,
  filterConditions,
  hashSql,
  isOlder,
  referenceConditions,
  valueCondition,
  type Add,
} from './filter-sql'
import { type Filters } from './filters'
import { type Merchant } from './merchant-guard'

/**
 * A page is merged from parts of an index, such as the settlements of one client key, or those of a payer with that key. Each part
 * is read from its newest entry, so a page reads at most as many entries as it shows from each part.
 */

/** The indexes of values have no pending settlements, so that a settlement enters each of them once. */
const IS_ENDED = `s.status IN ('settled', 'failed', 'reversed')`

const COLUMNS = `s.id, s.network, s.asset, a.symbol, a.decimals, s.amount::text AS amount, s.payer, s.nonce, s.pay_to AS recipient,
  s.resource, s.payment_identifier AS "paymentIdentifier", s.client_id AS "clientId", s.status,
  s.error_reason AS "errorReason", s.error_detail AS "errorDetail", s.transaction_hash AS "transactionHash",
  s.block_number AS "blockNumber", s.fee::text AS fee, ${claimedAtSql('s')} AS "claimedAt", s.updated_at AS "updatedAt",
  s.settled_at AS "settledAt", s.ended_at AS "endedAt", s.success_reported_at AS "successReportedAt",
  CASE WHEN s.first_claimed_at IS NOT NULL THEN s.created_at END AS "reclaimedAt"`

/** What a page is found by: the filter with the fewest settlements. */
export type Access = 'reference' | 'pending' | 'value' | 'status' | 'asset' | 'client' | 'time'

export function accessOf(merchant: Merchant, filters: Filters): Access {
  const { id, hashes, paymentIdentifier, nonces } = filters
  const { statuses, payer, recipient, resource, network, assets, clientId } = filters
  if (id ?? hashes ?? paymentIdentifier ?? nonces) return 'reference'
  if (statuses?.includes('claimed')) return 'pending'
  if (statuses && !statuses.includes('settled')) return 'status'
  if (payer ?? recipient ?? resource) return 'value'
  if (network ?? assets) return 'asset'
  return merchant === 'all' && clientId === undefined ? 'time' : 'client'
}

export function pageQuery(
  merchant: Merchant,
  filters: Filters,
  { after, limit }: { after?: Position | undefined; limit: number },
): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const add: Add = (value, type) => `$${values.push(value)}::${type}`
  const clients = clientConditions(merchant, filters, add).join(' AND ')
  const conditions = [...filterConditions(filters, add), ...(after ? [isOlder(after, add)] : [])]
  const newest = `ORDER BY claimed_at DESC, id DESC LIMIT ${add(limit, 'int')}`
  const parts = partsOf(merchant, filters, add).map(
    ({ of, own }) => `
  SELECT part.id, part.claimed_at FROM ${of} CROSS JOIN LATERAL (
    SELECT s.id, ${claimedAtSql('s')} AS claimed_at FROM settlements s
    WHERE ${[...own, ...conditions].join(' AND ')} ${newest}) AS part`,
  )
  return {
    text: `
WITH clients AS MATERIALIZED (SELECT client_id FROM clients WHERE ${clients}),
page AS MATERIALIZED (SELECT id, claimed_at FROM (${parts.join('\n  UNION ALL')}) AS parts ${newest})
SELECT ${COLUMNS}
FROM page JOIN LATERAL (SELECT * FROM settlements WHERE settlements.id = page.id LIMIT 1) AS s ON true
  JOIN assets a ON a.network = s.network AND a.asset = s.asset
ORDER BY page.claimed_at DESC, page.id DESC`,
    values,
  }
}

type Part = { of: string; own: readonly string[] }

const ONCE = '(SELECT) AS once'
const OF_CLIENT = 's.client_id = clients.client_id'
const IS_OF_CLIENT = checked(OF_CLIENT)

const partOfStatuses = (statuses: string): Part => ({
  of: `clients CROSS JOIN unnest(${statuses}) AS wanted (status)`,
  own: [OF_CLIENT, 's.status = wanted.status', `s.status <> 'settled'`],
})

const PENDING = partOfStatuses(`ARRAY['claimed', 'signed']`)

/** For each row of `of`, the settlements of one place of an index. */
function partsOf(merchant: Merchant, filters: Filters, add: Add): Part[] {
  switch (accessOf(merchant, filters)) {
    case 'reference': {
      const own = ['s.client_id IN (SELECT client_id FROM clients)', ...referenceConditions(filters, add)]
      return [{ of: ONCE, own }]
    }
    case 'pending':
      return [PENDING]
    case 'value':
      return [{ of: 'clients', own: [valueCondition(filters, add), IS_ENDED, IS_OF_CLIENT] }, PENDING]
    case 'status':
      return [partOfStatuses(add(filters.statuses, 'text[]'))]
    case 'asset':
      return [partOfAssets(filters, add), PENDING]
    case 'client':
      return [{ of: 'clients', own: [OF_CLIENT] }]
    case 'time':
      return [
        { of: ONCE, own: [IS_ENDED] },
        { of: ONCE, own: [`s.status IN ('claimed', 'signed')`] },
      ]
  }
}

function partOfAssets({ network, assets }: Filters, add: Add): Part {
  const wanted = [
    'true',
    ...(network === undefined ? [] : [`network = ${add(network, 'text')}`]),
    ...(assets ? [`asset = ANY (${add(assets, 'text[]')})`] : []),
  ]
  const hash = hashSql('s.client_id', 's.network', 's.asset')
  const wantedHash = hashSql('clients.client_id', 'wanted.network', 'wanted.asset')
  const isWanted = checked('(s.network, s.asset) = (wanted.network, wanted.asset)')
  return {
    of: `clients CROSS JOIN (SELECT network, asset FROM assets WHERE ${wanted.join(' AND ')}) AS wanted`,
    own: [`${hash} = ${wantedHash}`, IS_ENDED, IS_OF_CLIENT, isWanted],
  }
}
