import { closeAll } from '@tollgate/testing'
import { balanceOf, broken } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

test('a refund that Postgres does not take is made at a later beat', async () => {
  const { ledger, pool } = gateway
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  const { call } = await wallet.signIn()
  const chain_id = await gateway.chain('http://127.0.0.1:1')

  // The call is spent for, and then its usage row is out of reach.
  await pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql`,
  )
  await pool.query('CREATE TRIGGER refuse BEFORE UPDATE ON usage FOR EACH ROW EXECUTE FUNCTION refuse()')
  expect((await call({ chain_id })).status).toBe(500)
  expect(await balanceOf(ledger, wallet.address)).toBe(9n)
  await expect(ledger.beat()).rejects.toThrow('not now')

  await pool.query('DROP TRIGGER refuse ON usage')
  await ledger.beat()
  expect(await balanceOf(ledger, wallet.address)).toBe(10n)
  expect(await broken(pool)).toEqual([])
})
