import { openGatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase, runMain } from '@tollgate/testing'
import { main } from '../cli/cli'
import { endingOf, openLedgers, type TestLedgers } from '../testing/ledgers'
import { auditLedger, auditText } from './audit-report'

let { url, ledgers, pool, spender } = {} as TestLedgers
beforeAll(async () => {
  ;({ url, ledgers, pool, spender } = await openLedgers())
})
afterAll(closeAll)

test('the audit adds up all accounts, and names each violation', async () => {
  const { wallet, paid } = await spender(10)
  await ledgers[0].finish(endingOf(await paid()))
  await ledgers[0].finish(endingOf(await paid(ledgers[0], 3), 'refunded'))
  await pool.query('UPDATE payments SET transaction = $1', [`0x${'1'.repeat(64)}`])
  const intact = auditText(await auditLedger({ pool }))
  expect(intact).toMatch(/^newest row {2}\d{4}-\d\d-\d\dT/)
  expect(intact).toContain('credits     10 granted + 3 refunded - 4 used - 0 of deleted calls = 9 left\n')
  expect(intact).toContain('payments    1 credited\n')
  expect(intact).toMatch(/violations {2}none\n$/)

  await pool.query('UPDATE accounts SET balance = balance + 1 WHERE wallet = $1', [wallet])
  await pool.query("UPDATE payments SET transaction = NULL WHERE wallet = $1 AND status = 'credited'", [
    wallet,
  ])
  const damaged = await auditLedger({ pool })
  expect(damaged.violations).toEqual([
    expect.stringMatching(/^account \d+: balance_is_not_grants_and_refunds_less_usage$/),
    '1 × credited_without_transaction',
  ])
  expect(auditText(damaged)).toContain('violations  2\n  account ')
  const { code, out } = await runMain(main, ['audit'], { DATABASE_URL: url })
  expect([code, out]).toEqual([1, expect.stringContaining('violations  2\n')])
})

test('a credited payment without an account is a violation', async () => {
  const { wallet } = await spender(10)
  await pool.query('UPDATE payments SET transaction = $1', [`0x${'1'.repeat(64)}`])
  const before = await auditLedger({ pool })
  await pool.query("UPDATE payments SET wallet = wallet || '-lost' WHERE wallet = $1", [wallet])
  const { violations } = await auditLedger({ pool })
  expect(before.violations).not.toContain('1 × credited_without_account')
  expect(violations).toContain('1 × credited_without_account')
})

test('a payment that was granted twice is a violation', async () => {
  const { wallet } = await spender(10)
  await pool.query('DROP INDEX grants_payment_id_key')
  await pool.query(
    `INSERT INTO grants (account_id, payment_id, credits)
     SELECT account_id, payment_id, grants.credits FROM grants JOIN payments ON payments.id = payment_id WHERE wallet = $1`,
    [wallet],
  )
  const { violations } = await auditLedger({ pool })
  expect(violations).toContain('1 × payment_granted_twice')
})

test('free credits on a plan that is sold, and more of them than were counted, are violations', async () => {
  const { wallet } = await spender(10)
  await pool.query(
    'INSERT INTO grants (account_id, credits) SELECT id, 5 FROM accounts WHERE wallet = $1 AND pricing_plan_id = 1',
    [wallet],
  )
  await pool.query("INSERT INTO free_credit_days (day, given) VALUES ((now() AT TIME ZONE 'UTC')::date, 5)")
  const mixed = (await auditLedger({ pool })).violations
  await pool.query('UPDATE free_credit_days SET given = 4')
  const { violations } = await auditLedger({ pool })
  expect(mixed).toContain('1 × free_credits_mixed_with_bought_ones')
  expect(mixed).not.toContain('1 × free_credits_miscounted')
  expect(violations).toContain('1 × free_credits_miscounted')
  await pool.query('DELETE FROM grants WHERE payment_id IS NULL')
  await pool.query('DELETE FROM free_credit_days')
})

test('the command has more time for a statement than a request has', async () => {
  const DATABASE_URL = await migratedDatabase('gateway')
  const database = openGatewayDatabase({ url: DATABASE_URL })
  closeLater(() => database.close())
  await database.pool.query('ALTER TABLE grants RENAME TO stored_grants')
  await database.pool.query(
    `CREATE VIEW grants AS SELECT * FROM stored_grants
     WHERE 1 / (current_setting('statement_timeout')::interval > interval '1 minute')::int = 1`,
  )
  const { code, out, err } = await runMain(main, ['audit'], { DATABASE_URL })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('violations  none')
})
