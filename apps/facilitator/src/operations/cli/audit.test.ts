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
})
