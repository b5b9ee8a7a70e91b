import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { emptyDatabase, selectedMigrations, query } from '../testing/database'
import { migrate } from './migrate'

const RENAMING = '20261123220000_settlement_column_names'

/** Settlements with and without a requested retry, and with and without the block in which their nonce was unspent. */
async function filledDatabase() {
  const url = await emptyDatabase()
  const folder = await selectedMigrations('facilitator', (name) => name < RENAMING)
  await migrate({ url, service: 'facilitator', migrationsFolder: folder })
  await query(
    url,
    `INSERT INTO users (email, password_hash) VALUES ('m@example.com', 'x');
     INSERT INTO clients (client_id, user_id, token_hash, title, scope)
       SELECT 'key', id, decode(repeat('00', 32), 'hex'), 'Key', '{}' FROM users;
     INSERT INTO assets (network, asset, symbol, decimals) VALUES ('base', '0xusdc', 'USDC', 6);
     INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, payload, retry_at, judged_block)
       SELECT 'base', '0xusdc', '0xpayer', nonce, '0xshop', 100, 'key', decode(repeat('00', 32), 'hex'), '{}', requested, block
       FROM (VALUES ('1', timestamptz '2026-01-01', 7), ('2', NULL, 8), ('3', '2026-01-02', NULL)) AS given (nonce, requested, block)`,
  )
  return url
}

const rename = async (url: string) =>
  migrate({
    url,
    service: 'facilitator',
    migrationsFolder: await selectedMigrations('facilitator', (name) => name <= RENAMING),
  })

test('renames two columns of the settlements, and keeps their values', async () => {
  const url = await filledDatabase()
  const before = await query(
    url,
    'SELECT nonce, retry_at AS requested, judged_block AS block FROM settlements ORDER BY nonce',
  )
  expect(before).toHaveLength(3)

  expect((await rename(url)).applied).toEqual([RENAMING])

  const after = 'SELECT nonce, retry_requested_at AS requested, unspent_at_block AS block FROM settlements'
  expect(await query(url, `${after} ORDER BY nonce`)).toEqual(before)
})

test('waits for a signing round of the release before, and deadlocks with none', async () => {
  const url = await filledDatabase()
  const round = new Client({ connectionString: url })
  await round.connect()
  try {
    await round.query('BEGIN; SELECT id FROM settlements FOR UPDATE')
    const renaming = rename(url)
    const blocked = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`
    while ((await query(url, blocked)).length === 0) await delay(10)
    await round.query('SELECT count(*) FROM transactions; UPDATE transactions SET raw = raw; COMMIT')
    expect((await renaming).applied).toEqual([RENAMING])
  } finally {
    await round.end()
  }
})
