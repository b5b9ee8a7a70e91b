import { createMetrics } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { insertPayment, randomAddress } from '../testing/accounts'
import { endingOf, openLedgers, waitForLockWaiter, type TestLedgers } from '../testing/ledgers'
import { readableLog } from '../testing/log'
import { auditAccounts, startAudit, type Invariant } from './audit'

const now = () => new Date()

let { ledgers, pool, spender } = {} as TestLedgers
beforeAll(async () => {
  ;({ ledgers, pool, spender } = await openLedgers())
})
afterAll(closeAll)

async function account() {
  const { wallet, paid } = await spender(10)
  await ledgers[0].finish(endingOf(await paid()))
  await ledgers[0].finish(endingOf(await paid(ledgers[0], 3), 'refunded'))
  await paid()
  const { rows } = await pool.query<{ id: bigint }>('SELECT id FROM accounts WHERE wallet = $1', [wallet])
  return rows[0]!.id
}
const violationsOf = async (id: bigint) =>
  (await auditAccounts({ pool }, { after: id - 1n, limit: 1 })).violations.map(({ invariant }) => invariant)

test('an account with grants, calls and refunds passes', async () => {
  expect(await violationsOf(await account())).toEqual([])
})

const damages: [Invariant[], string][] = [
  [
    ['balance_is_not_grants_and_refunds_less_usage'],
    'UPDATE accounts SET balance = balance + 1 WHERE id = $1',
  ],
  [
    ['balance_is_not_grants_and_refunds_less_usage'],
    "UPDATE usage SET state = 'refunded' WHERE account_id = $1 AND state = 'reserved'",
  ],
  [
    ['balance_is_not_grants_and_refunds_less_usage', 'calls_are_miscounted'],
    "DELETE FROM usage WHERE account_id = $1 AND state = 'done'",
  ],
  [
    ['balance_is_not_grants_and_refunds_less_usage', 'credited_without_grant'],
    'DELETE FROM grants WHERE account_id = $1',
  ],
  [
    ['balance_is_not_grants_and_refunds_less_usage'],
    'UPDATE accounts SET archived_credits = archived_credits + 1 WHERE id = $1',
  ],
  [
    ['credited_without_grant'],
    'UPDATE payments SET credits = payments.credits + 1 FROM accounts WHERE accounts.id = $1 AND payments.wallet = accounts.wallet',
  ],
  [['calls_are_miscounted'], 'UPDATE accounts SET calls = calls - 1 WHERE id = $1'],
  [
    ['credited_without_grant'],
    "UPDATE payments SET status = 'settled' FROM accounts WHERE accounts.id = $1 AND payments.wallet = accounts.wallet",
  ],
]
test.each(damages)('reports violations: %j', async (invariants, damage) => {
  const id = await account()
  await pool.query(damage, [id])
  expect(await violationsOf(id)).toEqual(invariants)
})

test('reports a negative balance, though Postgres refuses one', async () => {
  const id = await account()
  const client = await pool.connect()
  try {
    await client.query('BEGIN; ALTER TABLE accounts DROP CONSTRAINT accounts_balance_check')
    await client.query('UPDATE accounts SET balance = -1 WHERE id = $1', [id])
    const { violations } = await auditAccounts({ pool: client as never }, { after: id - 1n, limit: 1 })
    expect(violations.map(({ invariant }) => invariant)).toContain('balance_is_negative')
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
})

test('audits all accounts in batches', async () => {
  const ids = [await account(), await account(), await account()]
  const first = await auditAccounts({ pool }, { after: ids[0]! - 1n, limit: 2 })
  expect(first.last).toBe(ids[1])
  expect((await auditAccounts({ pool }, { after: ids[1]!, limit: 2 })).last).toBeUndefined()
})

test('a violation is in the log and the metrics', async () => {
  const id = await account()
  await pool.query('UPDATE accounts SET balance = balance + 1 WHERE id = $1', [id])
  await pool.query("UPDATE reservations SET created_at = now() - INTERVAL '2 minutes'")
  await insertPayment(pool, { wallet: randomAddress(), credits: 1, status: 'settled' })
  await pool.query("UPDATE payments SET settled_at = now() - INTERVAL '2 minutes' WHERE status = 'settled'")
  const { rows } = await pool.query<{ count: bigint }>(
    "SELECT count(*) FROM payments WHERE status = 'settled'",
  )
  const { logger, text } = readableLog()
  const metrics = createMetrics()
  await startAudit({ database: { pool }, metrics, logger, now }).stop()
  expect(text()).toContain(`"account":"${id}"`)
  const exposed = await metrics.register.metrics()
  expect(exposed).toMatch(
    /tollgate_ledger_violations_total\{invariant="balance_is_not_grants_and_refunds_less_usage"\} [1-9]/,
  )
  expect(exposed).toContain('tollgate_ledger_violations_total{invariant="balance_is_negative"} 0')
  expect(exposed).toContain('tollgate_ledger_overdue{kind="calls"} 1')
  expect(exposed).toContain(`tollgate_ledger_overdue{kind="payments"} ${rows[0]?.count}\n`)
})

describe('the gauge of violated accounts', () => {
  const INVARIANT = 'balance_is_not_grants_and_refunds_less_usage'
  const change = (id: bigint, by: number) =>
    pool.query('UPDATE accounts SET balance = balance + $2 WHERE id = $1', [id, by])
  const auditing = (everyMs?: number) => {
    const metrics = createMetrics()
    const read = async (series: string) => {
      const lines = (await metrics.register.metrics()).split('\n')
      return Number(lines.find((line) => line.startsWith(`${series} `))?.split(' ')[1])
    }
    const parts = { database: { pool }, metrics, logger: readableLog().logger, now }
    return {
      ...startAudit({ ...parts, ...(everyMs !== undefined && { everyMs }) }),
      violated: () => read(`tollgate_ledger_violated_accounts{invariant="${INVARIANT}"}`),
      found: () => read(`tollgate_ledger_violations_total{invariant="${INVARIANT}"}`),
      passedAt: () => read('tollgate_ledger_audit_timestamp_seconds'),
    }
  }
  const until = async (isDone: () => Promise<boolean>) => {
    const deadline = performance.now() + 30_000
    while (!(await isDone())) {
      if (performance.now() > deadline) throw new Error('not within 30 seconds')
      await nextTurn()
    }
  }

  test('keeps its value over passes until a violation is repaired, and then falls', async () => {
    const id = await account()
    const first = auditing()
    await first.stop()
    const before = await first.violated()
    await change(id, 1)
    const audit = auditing(1)
    try {
      await until(async () => (await audit.found()) > 3 * (before + 1))
      expect(await audit.violated()).toBe(before + 1)
      await change(id, -1)
      await until(async () => (await audit.violated()) === before)
      expect(await audit.passedAt()).toBeGreaterThan(Date.now() / 1000 - 60)
    } finally {
      await audit.stop()
    }
  })

  test('has a violation before its pass ends', async () => {
    const { rows } = await pool.query<{ id: bigint }>(
      "INSERT INTO accounts (wallet, pricing_plan_id, balance) SELECT 'many-' || n, 1, 1 FROM generate_series(1, 110) n RETURNING id",
    )
    const audit = auditing()
    await audit.stop()
    await pool.query('DELETE FROM accounts WHERE id = ANY($1)', [rows.map(({ id }) => id)])
    expect(await audit.violated()).toBeGreaterThan(10)
    expect(await audit.passedAt()).toBe(0)
  })
})

const miscount = (id: bigint) => pool.query('UPDATE accounts SET calls = calls - 1 WHERE id = $1', [id])

describe('calls that are miscounted', () => {
  test('are recounted, with a warning and no alarm', async () => {
    const id = await account()
    await miscount(id)
    const { logger, text } = readableLog()
    const metrics = createMetrics()
    await startAudit({ database: { pool }, metrics, logger, now }).stop()
    expect(await violationsOf(id)).toEqual([])
    const lines = text()
      .split('\n')
      .filter((line) => line.includes(`"account":"${id}"`))
    expect(lines).toEqual([expect.stringMatching(/"level":"warn".*"before":"2".*"after":"3"/)])
    expect(await metrics.register.metrics()).toContain(
      'tollgate_ledger_violations_total{invariant="calls_are_miscounted"} 0',
    )
  })

  test('include calls written while the recount waits for the account', async () => {
    const id = await account()
    await miscount(id)
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query('UPDATE accounts SET calls = calls + 1 WHERE id = $1', [id])
    await holder.query(
      `INSERT INTO usage (account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, credits, state)
       SELECT account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, credits, state
       FROM usage WHERE account_id = $1 AND state = 'refunded'`,
      [id],
    )
    const audit = startAudit({
      database: { pool },
      metrics: createMetrics(),
      logger: readableLog().logger,
      now,
    })
    await waitForLockWaiter(pool)
    await holder.query('COMMIT')
    holder.release()
    await audit.stop()
    expect(await violationsOf(id)).toEqual([])
  })

  test('are an alarm if the recount fails', async () => {
    const id = await account()
    await miscount(id)
    await pool.query(`
      CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql;
      CREATE TRIGGER refuse BEFORE UPDATE ON accounts FOR EACH ROW WHEN (NEW.id = ${id}) EXECUTE FUNCTION refuse()`)
    const metrics = createMetrics()
    await startAudit({ database: { pool }, metrics, logger: readableLog().logger, now }).stop()
    await pool.query('DROP TRIGGER refuse ON accounts')
    expect(await metrics.register.metrics()).toContain(
      'tollgate_ledger_violations_total{invariant="calls_are_miscounted"} 1',
    )
  })
})

test('an account that cannot be audited does not block the audit of others', async () => {
  const [before, poisoned, after] = [await account(), await account(), await account()]
  await pool.query('UPDATE accounts SET balance = balance + 1 WHERE id = ANY($1)', [
    [before, poisoned, after],
  ])
  await pool.query(`
    ALTER TABLE grants RENAME TO grants_kept;
    CREATE VIEW grants AS SELECT id, account_id, payment_id,
      CASE WHEN account_id = ${poisoned} THEN 1 / (account_id - ${poisoned}) ELSE credits END AS credits FROM grants_kept`)
  const { logger, text } = readableLog()
  const audit = startAudit({ database: { pool }, metrics: createMetrics(), logger, now, everyMs: 1 })
  const isTold = (id: bigint, of: string) =>
    text()
      .split('\n')
      .some((line) => line.includes(`"account":"${id}"`) && line.includes(of))
  const isDone = () =>
    [before, after].every((id) => isTold(id, 'violated')) && isTold(poisoned, 'account skipped')
  const deadline = performance.now() + 30_000
  while (!isDone() && performance.now() < deadline) await nextTurn()
  await audit.stop()
  await pool.query('DROP VIEW grants; ALTER TABLE grants_kept RENAME TO grants')
  expect(isDone()).toBe(true)
})

test('calls that a replica of an older version reserved are recorded, and refunded once it is dead', async () => {
  const { wallet, paid, balance } = await spender(10)
  await paid()
  await pool.query('DELETE FROM reservations')
  await pool.query(
    "UPDATE usage SET created_at = now() - INTERVAL '1 minute', replica_id = gen_random_uuid()",
  )
  expect(await ledgers[1].refundOrphans()).toBe(0)
  const { rows } = await pool.query<{ id: bigint }>('SELECT id FROM accounts WHERE wallet = $1', [wallet])
  expect(await violationsOf(rows[0]!.id)).toEqual(['reserved_without_reservation'])

  const { logger, text } = readableLog()
  await startAudit({ database: { pool }, metrics: createMetrics(), logger, now }).stop()
  expect(text()).toContain('reserved calls recorded')
  expect(text()).not.toContain('reserved_without_reservation')
  await ledgers[1].refundOrphans()
  expect(await balance()).toBe(10n)
  expect(await violationsOf(rows[0]!.id)).toEqual([])
})
