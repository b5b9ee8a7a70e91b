import { closeAll } from '@tollgate/testing'
import { balanceOf } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumberCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

const good = JSON.stringify(blockNumberCall)
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

const changes: [string, string][] = [
  ['its payload twice', good.replace('"payload":', '"payload":{},"payload":')],
  ['its payload twice, once escaped', good.replace('"payload":', '"\\u0070ayload":{},"payload":')],
  ['a method within twice', good.replace('"id":1', '"id":1,"method":"eth_call"')],
  ['a resource twice', good.replace('"resource":', '"resource":"../x","resource":')],
  ['a __proto__', good.replace('{', '{"__proto__":{"cost":0},')],
  ['a __proto__ within', good.replace('"id":1', '"id":1,"__proto__":{}')],
  ['a constructor within', good.replace('"id":1', '"id":1,"constructor":{}')],
  ['ten thousand levels within', good.replace('"params":[]', `"params":${deep(10_000)}`)],
  ['trailing content', `${good}{}`],
]

test.each(changes)('a call with %s is 400, costs nothing and is not forwarded', async (_, body) => {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 5)
  const { token, call } = await wallet.signIn()
  const before = gateway.upstream.requests.length
  const answer = await gateway.api
    .post('/rpc')
    .set({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
    .send(body)
  expect(body).not.toBe(good)
  expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
  expect(gateway.upstream.requests).toHaveLength(before)
  expect(await balanceOf(gateway.ledger, wallet.address)).toBe(5n)
  await call().expect(200)
})
