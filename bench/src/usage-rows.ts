import { Client } from 'pg'
import { type BenchmarkContext } from './benchmark'

export const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const PLANS = 3
const OTHER_ACCOUNTS = 10_000
const CHUNK = 250_000

/**
 * Writes `rows` calls of WALLET, on three plans, and a hundredth as many payments; a tenth as many calls of other wallets in
 * between. Balances are right, so that the gateway's audit finds nothing.
 */
export async function fillHistory(
  databaseUrl: string,
  rows: number,
  progress: BenchmarkContext['progress'],
): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    // The rows are consistent, and only this benchmark needs them.
    await client.query('SET session_replication_role = replica')
    await client.query(ACCOUNTS, [PLANS, WALLET, OTHER_ACCOUNTS])
    for (let from = 1; from <= rows; from += CHUNK) {
      const to = Math.min(rows, from + CHUNK - 1)
      await client.query(USAGE, [from, to, PLANS, OTHER_ACCOUNTS])
      if (to % (4 * CHUNK) === 0) progress(`${to.toLocaleString('en')} calls written`)
    }
    await client.query(PAYMENTS, [WALLET, Math.ceil(rows / 100), PLANS, OTHER_ACCOUNTS])
    await client.query(GRANTS)
    await client.query(BALANCES)
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
  } finally {
    await client.end()
  }
}

const ACCOUNTS = `
INSERT INTO accounts (id, wallet, pricing_plan_id)
SELECT n, CASE WHEN n <= $1::int THEN $2 ELSE 'wallet ' || n END, 1 + (n - 1) % $1::int
FROM generate_series(1, $1::int + $3::int) AS n`

const USAGE = `
INSERT INTO usage (account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method,
  credits, state, status_code, outcome, latency_ms, finished_at)
SELECT account, '00000000-0000-4000-8000-000000000000', 'node', 'evm', '84532', 'rpc', 'POST', '', 'eth_blockNumber',
  1, 'done', 200, 'answered', 12, now()
FROM generate_series($1::int, $2::int) AS n CROSS JOIN LATERAL (
  SELECT 1 + n % $3::int AS account
  UNION ALL SELECT 1 + $3::int + n / 10 % $4::int WHERE n % 10 = 0
) AS accounts`

/** Those of the wallet, a second apart, and one of every other account. */
const PAYMENTS = `
INSERT INTO payments (id, wallet, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, nonce, credits, request,
  status, created_at, updated_at)
SELECT gen_random_uuid(), wallet, plan, 'base-sepolia', '84532', '', 10000, wallet, '', nonce, credits, '{}', 'credited',
  now() - make_interval(secs => n), now()
FROM (
  SELECT n, $1 AS wallet, 1 + n % $3::int AS plan, 'own ' || n AS nonce, 101 AS credits
  FROM generate_series(1, $2::int + $3::int) AS n
  UNION ALL
  SELECT n, 'wallet ' || n + $3::int, 1 + (n + $3::int - 1) % $3::int, 'other ' || n, 10000
  FROM generate_series(1, $4::int) AS n
) AS payment`

const GRANTS = `
INSERT INTO grants (account_id, payment_id, credits)
SELECT accounts.id, payments.id, payments.credits FROM payments JOIN accounts USING (wallet, pricing_plan_id)`

const BALANCES = `
UPDATE accounts SET calls = counted.calls, balance = granted.credits - counted.calls
FROM (SELECT account_id, count(*) AS calls FROM usage GROUP BY 1) AS counted
JOIN (SELECT account_id, sum(credits) AS credits FROM grants GROUP BY 1) AS granted USING (account_id)
WHERE accounts.id = account_id`
