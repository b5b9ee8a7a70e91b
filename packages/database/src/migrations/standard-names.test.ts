import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { emptyDatabase, selectedMigrations, query } from '../testing/database'
import { migrate } from './migrate'

const RENAMING = '20261123180000_standard_names'
const SETTLEMENT_STATES = ['claimed', 'signed', 'settled', 'failed', 'reversed'] as const
const TRANSACTION_STATES = ['signed', 'mined', 'final', 'lost'] as const

async function databaseBefore() {
  const url = await emptyDatabase()
  const folder = await selectedMigrations('facilitator', (name) => name < RENAMING)
  await migrate({ url, service: 'facilitator', migrationsFolder: folder })
  return url
}

async function rename(url: string) {
  const folder = await selectedMigrations('facilitator', (name) => name <= RENAMING)
  return migrate({ url, service: 'facilitator', migrationsFolder: folder })
}

async function fill(url: string) {
  await query(
    url,
    `INSERT INTO users (email, password_hash) VALUES ('m@example.com', 'x');
     INSERT INTO clients (client_id, user_id, token_hash, title, scope)
       SELECT 'key', id, decode(repeat('00', 32), 'hex'), 'Key', '{}' FROM users;
     INSERT INTO assets (network, asset, symbol, decimals) VALUES ('base', '0xusdc', 'USDC', 6)`,
  )
  for (const [at, status] of TRANSACTION_STATES.entries())
    await query(
      url,
      `INSERT INTO transactions (network, signer, nonce, raw, hash, status, offered_at, broadcast_at, block_number,
         block_hash, fee, cost, is_first)
       VALUES ('base', '0xsigner', ${status === 'lost' ? 0 : at}, 'raw', 'tx-${status}', '${status}', '2026-01-01', '2026-01-02',
         9, 'b', 5, 11, ${status === 'lost'})`,
    )
  for (const status of SETTLEMENT_STATES)
    await query(
      url,
      `INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, payload, status,
         transaction_id, transaction_hash, block_number, settled_at, error_reason, handed_out_at, problem, since_block, attempts)
       SELECT 'base', '0xusdc', '0xpayer', '${status}', '0xshop', 100, 'key', decode(repeat('00', 32), 'hex'), '{}', '${status}',
         id, hash, 9, '2026-01-03', CASE '${status}' WHEN 'failed' THEN 'payment_expired' END,
         CASE '${status}' WHEN 'settled' THEN timestamptz '2026-01-04' END, 'node is down', 8, 1
       FROM transactions WHERE status = 'final'`,
    )
  await query(
    url,
    `INSERT INTO charges (transaction_id, settlement_id, fee)
     SELECT t.id, s.id, 1 FROM transactions t, settlements s WHERE t.status = 'final'`,
  )
}

const SETTLEMENTS_BEFORE = `SELECT status, handed_out_at AS reported, problem AS error, since_block AS block, ended_at AS ended,
  fee, attempts FROM settlements ORDER BY id`
const SETTLEMENTS_AFTER = `SELECT status, success_reported_at AS reported, last_error AS error, min_block AS block,
  ended_at AS ended, fee, attempts FROM settlements ORDER BY id`
const TRANSACTIONS_BEFORE = `SELECT status, nonce, hash, is_first AS grant, offered_at AS submitted, broadcast_at AS accepted,
  cost AS most, fee FROM transactions ORDER BY id`
const TRANSACTIONS_AFTER = `SELECT status, nonce, hash, is_fee_grant AS grant, submitted_at AS submitted,
  accepted_at AS accepted, max_fee AS most, fee FROM transactions ORDER BY id`

test('renames columns and a status, and keeps every value of rows in every state', async () => {
  const url = await databaseBefore()
  await fill(url)
  const settlements = await query(url, SETTLEMENTS_BEFORE)
  const transactions = await query(url, TRANSACTIONS_BEFORE)
  const fees = await query(url, 'SELECT * FROM charges ORDER BY 1, 2')
  expect([settlements.length, transactions.length, fees.length]).toEqual([5, 4, 5])

  const { applied } = await rename(url)

  expect(applied).toEqual([RENAMING])
  expect(await query(url, SETTLEMENTS_AFTER)).toEqual(settlements)
  expect(await query(url, 'SELECT * FROM fee_allocations ORDER BY 1, 2')).toEqual(fees)
  expect(await query(url, TRANSACTIONS_AFTER)).toEqual(
    transactions.map((row) => (row.status === 'lost' ? { ...row, status: 'superseded' } : row)),
  )
})

test('one transaction of a signer has a nonce, unless others superseded it', async () => {
  const url = await databaseBefore()
  await fill(url)
  await rename(url)
  const insert = (hash: string, status: string) =>
    query(
      url,
      `INSERT INTO transactions (network, signer, nonce, raw, hash, status)
       VALUES ('base', '0xsigner', 0, 'raw', '${hash}', '${status}')`,
    )
  await expect(insert('again', 'superseded')).resolves.toEqual([])
  await expect(insert('twice', 'signed')).rejects.toThrow(/transactions_nonce_key/)
  await expect(insert('other', 'lost')).rejects.toThrow(/transactions_status_check/)
})

test('waits for a signing round of the release before, and deadlocks with none that begins meanwhile', async () => {
  const url = await databaseBefore()
  await fill(url)
  const [first, second] = [new Client({ connectionString: url }), new Client({ connectionString: url })]
  await Promise.all([first.connect(), second.connect()])
  const begin = (round: Client) =>
    round.query("BEGIN; SELECT count(*) FROM transactions WHERE status = 'signed'")
  const lockClaims = (round: Client) => round.query('SELECT id FROM settlements FOR UPDATE')
  const waiting = async (count: number) => {
    const blocked = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`
    while ((await query(url, blocked)).length < count) await delay(10)
  }
  try {
    await begin(first)
    await lockClaims(first)
    const migrating = rename(url)
    await waiting(1)
    const later = begin(second).then(() => lockClaims(second))
    await waiting(2)
    await first.query('COMMIT')
    expect((await migrating).applied).toEqual([RENAMING])
    expect((await later).rowCount).toBe(SETTLEMENT_STATES.length)
    await second.query('ROLLBACK')
  } finally {
    await Promise.all([first.end(), second.end()])
  }
})
