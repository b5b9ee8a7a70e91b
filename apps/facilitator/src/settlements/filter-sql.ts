import { type Position } from './cursor'
import { type Filters } from './filters'
import { type Merchant } from './merchant-guard'

/** Adds a parameter of the query and returns its name. */
export type Add = (value: unknown, type: string) => string

/** Never changes, unlike `created_at`. Worded as in the indexes, as are the hashes. */
export const claimedAtSql = (row: string) => `coalesce(${row}.first_claimed_at, ${row}.created_at)`

export const hashSql = (...values: readonly string[]) => `hashtextextended(${values.join(` || ' ' || `)}, 0)`

const hashOfClient = (column: string, value: string) =>
  `${hashSql('s.client_id', column)} = ${hashSql('clients.client_id', value)}`

/** Of table `clients`. */
export function clientConditions(merchant: Merchant, { clientId }: Filters, add: Add): string[] {
  const wanted = clientId === undefined ? [] : [`client_id = ${add(clientId, 'text')}`]
  if (merchant === 'all') return ['true', ...wanted]
  return 'userId' in merchant
    ? [`user_id = ${add(merchant.userId, 'int')}`, ...wanted]
    : [`client_id = ${add(merchant.clientId, 'text')}`, ...wanted]
}

export const isOlder = ({ claimedAt, id }: Position, add: Add) =>
  `(${claimedAtSql('s')}, s.id) < (${add(claimedAt, 'timestamptz')}, ${add(id, 'bigint')})`

/** By the index of the first of these values that is wanted. */
export function valueCondition({ payer, recipient, resource }: Filters, add: Add): string {
  if (payer !== undefined) return hashOfClient('s.payer', add(payer, 'text'))
  if (recipient !== undefined) return hashOfClient('s.pay_to', add(recipient, 'text'))
  return hashOfClient('s.resource', add(resource, 'text'))
}

/**
 * Hides a condition from the planner: it would estimate that few settlements match, and then read and sort all that an index has
 * of one value, in place of its newest entries.
 */
export const checked = (condition: string) => `coalesce(${condition}, false)`

/** Of a settlement `s`, wherever it is found. */
export function filterConditions(filters: Filters, add: Add): string[] {
  const { statuses, network, assets, payer, recipient, resource, from, to } = filters
  const conditions: string[] = []
  if (statuses) conditions.push(checked(`s.status = ANY (${add(statuses, 'text[]')})`))
  if (network !== undefined) conditions.push(checked(`s.network = ${add(network, 'text')}`))
  if (assets) conditions.push(checked(`s.asset = ANY (${add(assets, 'text[]')})`))
  if (payer !== undefined) conditions.push(checked(`s.payer = ${add(payer, 'text')}`))
  if (recipient !== undefined) conditions.push(checked(`s.pay_to = ${add(recipient, 'text')}`))
  if (resource !== undefined) conditions.push(checked(`s.resource = ${add(resource, 'text')}`))
  if (from) conditions.push(`${claimedAtSql('s')} >= ${add(from, 'timestamptz')}`)
  if (to) conditions.push(`${claimedAtSql('s')} <= ${add(to, 'timestamptz')}`)
  return conditions
}

/** Of a settlement `s`: each is of few. */
export function referenceConditions(filters: Filters, add: Add): string[] {
  const { id, hashes, paymentIdentifier, payer, nonces } = filters
  return [
    ...(id === undefined ? [] : [`s.id = ${add(id, 'bigint')}`]),
    ...(hashes ? [hasHash(add(hashes, 'text[]'))] : []),
    ...(paymentIdentifier === undefined ? [] : [`s.payment_identifier = ${add(paymentIdentifier, 'text')}`]),
    ...(nonces ? [hasNonce(add(payer, 'text'), add(nonces, 'text[]'))] : []),
  ]
}

/** The settlement's own hash, or any version of a transaction that it is or was in. */
const hasHash = (hashes: string) => `s.id IN (
    WITH named AS MATERIALIZED (
      SELECT id FROM transactions WHERE hash = ANY (${hashes})
      UNION SELECT transaction_id FROM transaction_versions WHERE hash = ANY (${hashes}))
    SELECT e.id FROM unnest(${hashes}) AS wanted (hash) JOIN settlements e ON ${hashSql('e.transaction_hash')} = ${hashSql('wanted.hash')}
      AND e.transaction_hash = wanted.hash AND e.status IN ('settled', 'failed', 'reversed')
    UNION SELECT id FROM settlements WHERE transaction_id IN (SELECT id FROM named)
    UNION SELECT settlement_id FROM fee_allocations WHERE transaction_id IN (SELECT id FROM named))`

/** By the unique index, which begins with network and asset. */
const hasNonce = (payer: string, nonces: string) => `s.id IN (
    SELECT named.id FROM assets CROSS JOIN LATERAL (
      SELECT id FROM settlements o
      WHERE o.network = assets.network AND o.asset = assets.asset AND o.payer = ${payer} AND o.nonce = ANY (${nonces})
      LIMIT 2) AS named)`
