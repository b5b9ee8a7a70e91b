import { type UsageOutcome } from '@tollgate/protocol'
import { type PaymentStatus } from '../payments/payment-record'

/**
 * A page reads only the rows that it skips and shows, from the newest end of the index; totals are counted at write time.
 *
 * Limits and accounts are in subqueries on purpose: Postgres then estimates few rows and does not read and sort a whole account,
 * which is cheap for most accounts and ruinous for a large one.
 */

export type UsageRow = {
  id: bigint
  account_id: bigint
  provider_id: string
  ecosystem: string
  chain_id: string
  transport: string
  method: string
  resource: string
  rpc_method: string | null
  credits: number
  status_code: number | null
  outcome: UsageOutcome
  latency_ms: number | null
  created_at: Date
  key_label: string | null
}

export type AccountRow = { id: bigint; pricing_plan_id: number; calls: bigint }

/** $1 wallet, $2 plan or null. */
export const ACCOUNTS = `
SELECT id, pricing_plan_id, calls FROM accounts WHERE wallet = $1 AND ($2::int IS NULL OR pricing_plan_id = $2)
ORDER BY id`

/**
 * $1 only ids below this one, $2 limit, $3 offset, then the id of each account. Merges the accounts' indexes, so the number of
 * accounts does not multiply the rows that it reads.
 */
export const usagePage = (accounts: number): string => `
WITH page AS (
  SELECT id FROM (${Array.from({ length: accounts }, (_, index) => recentIds(`$${index + 4}`)).join(' UNION ALL ')}) AS recent
  ORDER BY id DESC LIMIT (SELECT $2::int) OFFSET (SELECT $3::int)
)
SELECT call.id, account_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method,
  CASE state WHEN 'refunded' THEN 0 ELSE credits END AS credits, status_code, coalesce(outcome, state) AS outcome,
  latency_ms, created_at, (SELECT label FROM access_keys WHERE access_keys.id = call.key_id) AS key_label
FROM page JOIN LATERAL (SELECT * FROM usage WHERE usage.id = page.id LIMIT 1) AS call ON true
ORDER BY call.id DESC`

const recentIds = (account: string) => `(
    SELECT id FROM usage WHERE account_id = (SELECT ${account}::bigint) AND id < $1::bigint
    ORDER BY id DESC LIMIT (SELECT $2::int + $3::int)
  )`

/** A refused payment that was signed again has given up its nonce (`payments/store.ts`). */
const PAYMENT_COLUMNS = `id, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, credits, status, transaction,
    block_number, created_at, settled_at, reversed_at, split_part(nonce, ' of ', 1) AS nonce,
    (SELECT decimals FROM pricing_plans WHERE pricing_plans.id = pricing_plan_id AND asset_address = asset) AS decimals,
    (SELECT display_denom FROM pricing_plans WHERE pricing_plans.id = pricing_plan_id AND asset_address = asset) AS display_denom`

/** A row without an `id` means an empty page. `is_known` is false if `before` is no payment of this wallet. */
export type PaymentPageRow = { total: bigint; is_known: boolean } & ({ id: null } | PaymentRow)

export type PaymentRow = {
  id: string
  pricing_plan_id: number
  network: string
  chain_id: string
  asset: string
  amount: string
  payer: string
  pay_to: string
  credits: number
  status: PaymentStatus
  transaction: string | null
  block_number: bigint | null
  created_at: Date
  settled_at: Date | null
  reversed_at: Date | null
  nonce: string
  decimals: number | null
  display_denom: string | null
}

/** $1 wallet, $2 only payments older than this one, or null, $3 limit, $4 offset. */
export const PAYMENT_PAGE = `
WITH seen AS MATERIALIZED (
  SELECT created_at FROM payments WHERE id = $2::uuid AND wallet = $1
), page AS (
  SELECT ${PAYMENT_COLUMNS}
  FROM payments
  WHERE wallet = $1
    AND (created_at, id) < (
      coalesce((SELECT created_at FROM seen), 'infinity'), coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
  ORDER BY created_at DESC, id DESC LIMIT (SELECT $3::int) OFFSET (SELECT $4::int)
)
SELECT counted.*, page.*
FROM (
  SELECT (SELECT count(*) FROM payments WHERE wallet = $1) AS total, $2 IS NULL OR EXISTS (SELECT FROM seen) AS is_known
) AS counted LEFT JOIN page ON true
ORDER BY page.created_at DESC, page.id DESC`

export type PaymentDetailsRow = PaymentRow & { error_reason: string | null }

/** $1 wallet, $2 payment. */
export const PAYMENT = `SELECT ${PAYMENT_COLUMNS}, error_reason FROM payments WHERE id = $2::uuid AND wallet = $1`
