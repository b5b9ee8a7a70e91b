import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare } from '../scripts/prepare.mjs'

const HELP = `Usage: node bench/usage-history.mjs [--rows 10000000] [--help]

Fills the usage table of a Postgres of its own, nine tenths of it with the calls of one wallet on three plans, and times the
gateway's own statements for GET /history/:wallet and GET /payments/:wallet on it, each with its EXPLAIN ANALYZE. Removes
everything afterwards. Ten million rows take some minutes and 4 GB of disk.

  --rows N  how many calls; a hundredth as many payments
  --help    this text
`

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const PLANS = 3
const OTHER_ACCOUNTS = 10_000
const CHUNK = 200_000
const RUNS = 200

async function main() {
  const { values } = parseArgs({
    options: { rows: { type: 'string', default: '10000000' }, help: { type: 'boolean' } },
  })
  if (values.help) return process.stdout.write(HELP)
  const rows = Number(values.rows)
  if (!Number.isInteger(rows) || rows < 1_000)
    throw new Error('--rows: expected a whole number, at least 1000')

  await prepare({ projects: ['packages/devnet', 'apps/gateway'], forTests: false })
  const { startPostgres, removePostgres } = await import('../packages/devnet/dist/index.js')
  const { migrate, openGatewayDatabase } = await import('../packages/database/dist/index.js')
  const statements = await import('../apps/gateway/dist/accounts/history-sql.js')

  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing = [() => rmSync(folder, { recursive: true, force: true }), () => removePostgres(folder)]
  try {
    const postgres = await startPostgres({ folder, durable: false })
    closing.push(() => postgres.stop())
    const url = await postgres.createDatabase('gateway')
    await migrate({ url, service: 'gateway' })
    const database = openGatewayDatabase({ url, poolSize: 1 })
    closing.push(() => database.close())
    await fill(database.pool, rows)
    await measure(database.pool, statements)
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function fill(pool, rows) {
  // The inserted rows are consistent; checking the account of each would take most of the time.
  await pool.query('SET session_replication_role = replica')
  await pool.query(
    `INSERT INTO accounts (id, wallet, pricing_plan_id)
     SELECT n, CASE WHEN n <= $1::int THEN $2 ELSE 'wallet ' || n END, 1 + n % $1::int FROM generate_series(1, $3::int) AS n`,
    [PLANS, WALLET, PLANS + OTHER_ACCOUNTS],
  )
  const startedAt = performance.now()
  for (let from = 1; from <= rows; from += CHUNK) {
    const to = Math.min(rows, from + CHUNK - 1)
    await pool.query(
      `INSERT INTO usage (account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method,
         credits, state, status_code, outcome, latency_ms, finished_at)
       SELECT CASE WHEN n % 10 = 0 THEN 1 + $3::int + n / 10 % $4::int ELSE 1 + n % $3::int END,
         '00000000-0000-4000-8000-000000000000', 'node', 'evm', '84532', 'rpc', 'POST', '', 'eth_blockNumber',
         1, 'done', 200, 'answered', 12, now()
       FROM generate_series($1::int, $2::int) AS n`,
      [from, to, PLANS, OTHER_ACCOUNTS],
    )
    progress(`${to.toLocaleString('en')} calls after ${seconds(startedAt)}`)
  }
  await pool.query(
    `INSERT INTO payments (id, wallet, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, nonce, credits, request,
       status, created_at, updated_at)
     SELECT gen_random_uuid(), CASE WHEN n % 10 = 0 THEN 'wallet ' || n ELSE $1 END, 1, 'base-sepolia', '84532', '', 10000, $1,
       '', n, 100, '{}', 'credited', now() - make_interval(secs => n), now()
     FROM generate_series(1, $2::int) AS n`,
    [WALLET, Math.ceil(rows / 100)],
  )
  for (let plan = 1; plan <= PLANS; plan++)
    await pool.query(
      'UPDATE accounts SET calls = (SELECT count(*) FROM usage WHERE account_id = accounts.id) WHERE id = $1',
      [plan],
    )
  await pool.query('ANALYZE')
  const { rows: sizes } = await pool.query(
    `SELECT pg_size_pretty(pg_table_size('usage')) AS usage, pg_size_pretty(pg_indexes_size('usage')) AS indexes`,
  )
  progress(`filled in ${seconds(startedAt)}: usage has ${sizes[0].usage}, its indexes ${sizes[0].indexes}`)
}

async function measure(pool, { USAGE_PAGE, PAYMENT_PAGE }) {
  const newest = Number.MAX_SAFE_INTEGER
  const [middle] = (await pool.query('SELECT max(id) / 2 AS id FROM usage')).rows
  const [older] = (
    await pool.query('SELECT id FROM payments WHERE wallet = $1 ORDER BY created_at LIMIT 1 OFFSET 500', [
      WALLET,
    ])
  ).rows
  const pages = [
    ['GET /history/:wallet', USAGE_PAGE, [WALLET, null, newest, 20, 0]],
    ['GET /history/:wallet?plan_id=1', USAGE_PAGE, [WALLET, 1, newest, 20, 0]],
    ['GET /history/:wallet?limit=100', USAGE_PAGE, [WALLET, null, newest, 100, 0]],
    ['GET /history/:wallet?before=<half way>', USAGE_PAGE, [WALLET, null, middle.id, 20, 0]],
    ['GET /history/:wallet?offset=10000', USAGE_PAGE, [WALLET, null, newest, 20, 10_000]],
    ['GET /payments/:wallet', PAYMENT_PAGE, [WALLET, null, 30, 0]],
    ['GET /payments/:wallet?before=<near the end>', PAYMENT_PAGE, [WALLET, older.id, 30, 0]],
  ]
  const table = []
  for (const [page, text, values] of pages) {
    const { total, median, worst } = await timed(pool, { name: page, text, values })
    table.push({ page, total: Number(total), 'median ms': median, 'worst ms': worst })
    console.log(`\n${page}`)
    const explain = { text: `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) ${text}`, values }
    for (const line of (await pool.query(explain)).rows) console.log(`  ${line['QUERY PLAN']}`)
  }
  console.log(`\n${RUNS} runs of each statement, over one connection:`)
  console.table(table)
}

async function timed(pool, query) {
  const times = []
  let total
  for (let run = 0; run < RUNS; run++) {
    const startedAt = performance.now()
    const { rows } = await pool.query(query)
    times.push(performance.now() - startedAt)
    total = rows[0].total
  }
  times.sort((a, b) => a - b)
  const rounded = (ms) => Math.round(ms * 100) / 100
  return { total, median: rounded(times[RUNS / 2]), worst: rounded(times.at(-1)) }
}

const progress = (line) => console.log(`· ${line}`)
const seconds = (startedAt) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`

main().catch((error) => {
  console.error(`bench/usage-history: ${error.message}`)
  process.exit(error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1)
})
