import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { openLedgers, times, type TestLedgers } from '../testing/ledgers'
import { listOf as list } from './batch-statement'
import { PAYMENT_PAGE, usagePage } from './history-sql'
import {
  DELETE_DEAD_REPLICAS,
  DELETE_ENDED_RESERVATIONS,
  FINISH,
  FINISH_LATE,
  ORPHANS,
  SPEND,
} from './ledger-sql'

const WALLET = 'one wallet that holds nearly everything'
const CALLS = 200_000
const PAYMENTS = 20_000
const ACCOUNTS = 2_000
const UNDER_WAY = 50
const BATCH = 32
/** Of a row, in an index: earlier runs, rolled back, have left some. */
const VERSIONS = 2

type Node = {
  'Node Type': string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

type Values = (string | number | bigint | null)[]

let pool: TestLedgers['pool']
beforeAll(async () => {
  ;({ pool } = await openLedgers())
  // Nearly all rows belong to accounts 1 and 2 of one wallet; many small accounts make the average small.
  await pool.query(
    `INSERT INTO accounts (id, wallet, pricing_plan_id)
     SELECT n, CASE WHEN n <= 2 THEN $1 ELSE 'wallet ' || n END, 1 + n % 2 FROM generate_series(1, $2::int) AS n`,
    [WALLET, ACCOUNTS],
  )
  await pool.query(
    `INSERT INTO usage (account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, credits, state, outcome)
     SELECT CASE WHEN n % 100 = 0 THEN 3 + (n / 100) % ($2::int - 2) ELSE 1 + n % 2 END,
       gen_random_uuid(), 'node', 'evm', '84532', 'rpc', 'POST', '', 1, CASE WHEN n <= $3 THEN 'reserved' ELSE 'done' END, 'answered'
     FROM generate_series(1, $1::int) AS n`,
    [CALLS, ACCOUNTS, UNDER_WAY],
  )
  await pool.query(
    `INSERT INTO reservations (first_call, last_call, replica_id, created_at)
     SELECT id, id, replica_id, now() - INTERVAL '1 hour' FROM usage WHERE state = 'reserved'`,
  )
  await pool.query(
    `INSERT INTO sessions (id, wallet, auth_method, chain_id, ecosystem, pricing_plan_id)
     SELECT gen_random_uuid(), wallet, 'siwe', '84532', 'evm', pricing_plan_id FROM accounts`,
  )
  await pool.query(
    `INSERT INTO access_keys (id, hash, wallet, pricing_plan_id, label)
     SELECT gen_random_uuid(), decode(md5(id::text), 'hex'), wallet, pricing_plan_id, '' FROM accounts`,
  )
  await pool.query(
    `INSERT INTO payments (call_state, id, wallet, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, nonce, credits, request, status, created_at, updated_at)
     SELECT 'open', gen_random_uuid(), CASE WHEN n % 100 = 0 THEN 'wallet ' || n ELSE $1 END, 1, '', '', '', 1, '', '', n, 1, '{}', 'credited',
       now() - make_interval(secs => n / 3), now()
     FROM generate_series(1, $2) AS n`,
    [WALLET, PAYMENTS],
  )
})
afterAll(closeAll)

async function nodesOf(text: string, values: Values, how: 'force_custom_plan' | 'force_generic_plan') {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(`SET LOCAL plan_cache_mode = ${how}`)
    const quoted = values.map((value) => (value === null ? 'NULL' : `'${value}'`))
    await client.query(`PREPARE page AS ${text}`)
    const explain = `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE page (${quoted.join(', ')})`
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(explain)
    await client.query('DEALLOCATE page')
    const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)]
    return flat(rows[0]!['QUERY PLAN'][0].Plan)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}
const handled = (node: Node) =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']

const lastId = async () =>
  (await pool.query<{ id: bigint }>('SELECT max(id) / 2 AS id FROM usage')).rows[0]!.id
const anyPaymentId = async () =>
  (
    await pool.query<{ id: string }>('SELECT id FROM payments WHERE wallet = $1 OFFSET 9000 LIMIT 1', [
      WALLET,
    ])
  ).rows[0]!.id

const MAX_ID = Number.MAX_SAFE_INTEGER

describe.each([
  ['without statistics', 'SELECT'],
  ['with statistics', 'ANALYZE'],
  ['vacuumed', 'VACUUM ANALYZE'],
])('%s', (_, prepare) => {
  beforeAll(() => pool.query(prepare))
  describe.each(['force_custom_plan', 'force_generic_plan'] as const)('by %s', (how) => {
    const usage: [string, number, () => Values | Promise<Values>][] = [
      ['the first page', 20, () => [MAX_ID, 20, 0, 1, 2]],
      ['the first page of one plan', 20, () => [MAX_ID, 20, 0, 2]],
      ['the largest page', 100, () => [MAX_ID, 100, 0, 1, 2]],
      ['a later page', 100, async () => [await lastId(), 100, 0, 1, 2]],
      ['the farthest page', 10_100, () => [MAX_ID, 100, 10_000, 1, 2]],
    ]
    test.each(usage)(
      '%s of a wallet with nearly all calls reads only the rows that it skips and shows',
      async (_name, rows, values) => {
        const pageValues = await values()
        const accounts = pageValues.length - 3
        const nodes = await nodesOf(usagePage(accounts), pageValues, how)
        expect(nodes.map((node) => node['Index Name'])).toContain('usage_account_id_id_idx')
        // Merging reads one row ahead in each account.
        for (const node of nodes) expect(handled(node)).toBeLessThanOrEqual(rows + accounts)
      },
    )

    const payments: [string, number, () => Values | Promise<Values>][] = [
      ['the first page', 30, () => [WALLET, null, 30, 0]],
      ['a later page', 100, async () => [WALLET, await anyPaymentId(), 100, 0]],
    ]
    test.each([
      ['what is to be refunded', ORPHANS, [randomUUID(), 20, 30]],
      ['what has ended', DELETE_ENDED_RESERVATIONS, [randomUUID(), 20]],
      ['which replicas are to be deleted', DELETE_DEAD_REPLICAS, [3_600]],
    ])('%s reads only reserved calls', async (_name, text, values) => {
      for (const node of await nodesOf(text, values, how))
        expect(handled(node)).toBeLessThanOrEqual(VERSIONS * UNDER_WAY)
    })

    test.each([
      ['session', 'SELECT id FROM sessions LIMIT $1'],
      ['key', 'SELECT id FROM access_keys LIMIT $1'],
      ['payment', "SELECT id FROM payments WHERE call_state = 'open' LIMIT $1"],
    ])(
      'a batch of calls by %s reads only what authorizes them and their accounts',
      async (kindOfAuthority, text) => {
        const { rows } = await pool.query<{ id: string }>(text, [BATCH])
        const kind = ['node', 'evm', '84532', 'rpc', 'POST', '', 'eth_blockNumber'].map(
          (word) => `{"${word}"}`,
        )
        const each = list(times(BATCH, () => 1))
        const authorities = list(rows.map(() => kindOfAuthority))
        const values = [randomUUID(), authorities, list(rows.map(({ id }) => id)), each, each, each, ...kind]
        for (const node of await nodesOf(SPEND.waiting, values, how))
          expect(handled(node)).toBeLessThanOrEqual(VERSIONS * BATCH)
      },
    )

    test.each([
      ['endings', FINISH.waiting],
      ['late endings', FINISH_LATE.waiting],
    ])('a batch of %s reads only its calls', async (_name, text) => {
      const { rows } = await pool.query<{ id: bigint }>(
        "SELECT id FROM usage WHERE state = 'reserved' LIMIT $1",
        [BATCH],
      )
      const columns = ['done', 200, 'answered', 12, false, 0].map((value) => list(times(BATCH, () => value)))
      const values = [list(rows.map(({ id }) => id)), ...columns]
      for (const node of await nodesOf(text, values, how))
        expect(handled(node)).toBeLessThanOrEqual(VERSIONS * BATCH)
    })

    test.each(payments)('%s of its payments is read from the index in order', async (_name, rows, values) => {
      const nodes = await nodesOf(PAYMENT_PAGE, await values(), how)
      const limits = nodes.filter((node) => node['Node Type'] === 'Limit')
      expect(limits.map((node) => node.Plans?.map((below) => below['Index Name']))).toContainEqual(
        expect.arrayContaining(['payments_wallet_created_at_id_idx']),
      )
      for (const node of nodes.filter((each) => each['Node Type'] === 'Sort'))
        expect(handled(node)).toBeLessThanOrEqual(rows)
    })
  })
})
