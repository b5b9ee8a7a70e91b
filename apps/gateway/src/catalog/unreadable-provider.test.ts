import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
afterAll(() => auditAndClose(gateway))

test('plans are sold and wallets sign in while a row of a provider cannot be read', async () => {
  const owner = gateway.wallet()
  const chain = await gateway.chain('http://127.0.0.1:1')
  await gateway.pool.query(`UPDATE providers SET methods = '{"eth_call": 0}' WHERE chain_id = $1`, [chain])
  gateway.clock.advance(3)
  await gateway.api.get('/pricing').expect(200)
  await owner.signIn()
})
