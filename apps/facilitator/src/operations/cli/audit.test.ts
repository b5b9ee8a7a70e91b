import { closeAll } from '@tollgate/testing'
import { newOperator, type Operator } from '../../testing/operator'

let here: Operator
beforeAll(async () => (here = await newOperator()))
beforeEach(() => here.clear())
afterAll(closeAll)

describe('facilitator settlements audit', () => {
  test('counts the settlements and shows each signer', async () => {
    await here.oneOfEach()
    const { code, out, err } = await here.settlements('audit')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^newest row {3}\d{4}-\d\d-\d\dT/)
    expect(out).toMatch(/^settlements {2}2 claimed, .*1 signed/m)
    expect(out).toMatch(/^signer {7}0x2{40} on base-sepolia: newest nonce 7, 1 pending, 0 nonces/m)
    expect(out).toMatch(/violations {3}none\n$/)
  })

  test('exits with 1 and names what must not be', async () => {
    await here.oneOfEach()
    await here.pool.query('DELETE FROM transaction_versions')
    const { code, out } = await here.settlements('audit')
    expect(code).toBe(1)
    expect(out).toMatch(/violations {3}\d+\n {2}a transaction without its signed versions: 1\n/)
  })

  test('counts all violations, and lists a thousand of each kind', async () => {
    await here.pool.query(
      `INSERT INTO transactions (network, signer, nonce, raw, hash, max_fee)
       SELECT 'base-sepolia', '0x${'2'.repeat(40)}', n, '0x', '0x' || n, 0 FROM generate_series(1, 1500) AS n`,
    )
    const { code, out } = await here.settlements('audit')
    expect(code).toBe(1)
    expect(out).toContain('violations   1500\n')
    expect(out).toContain('\n  a transaction without its signed versions: 500 more\n')
    expect(out.split('\n').length).toBeLessThan(1_100)
  })

  test('has more time for a statement than a request has', async () => {
    await here.oneOfEach()
    await here.pool.query('ALTER TABLE transaction_versions RENAME TO stored_versions')
    await here.pool.query(
      `CREATE VIEW transaction_versions AS SELECT * FROM stored_versions
       WHERE 1 / (current_setting('statement_timeout')::interval > interval '1 minute')::int = 1`,
    )
    try {
      expect(await here.settlements('audit')).toMatchObject({ code: 0, err: '' })
    } finally {
      await here.pool.query('DROP VIEW transaction_versions')
      await here.pool.query('ALTER TABLE stored_versions RENAME TO transaction_versions')
    }
  })
})
