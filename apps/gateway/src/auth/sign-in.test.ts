import { closeAll } from '../testing/closing'
import { testGateway } from '../testing/gateway'

afterAll(closeAll)

test('works', async () => {
  const gateway = await testGateway()
  const session = await gateway.wallet().signIn()
  const refused = await session.call()
  expect(refused.status).toBe(402)
})
