import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumber, post } from '../testing/plain'
import { answers, startUpstream } from '../testing/upstream'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
afterAll(() => auditAndClose(gateway))

async function cosmosCustomer() {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  const { token } = await wallet.signIn()
  const upstream = await startUpstream(answers.result())
  const chain = await gateway.chain({ category: 'cosmos', rpc: [upstream.url], rest: [upstream.url] })
  const balance = () => balanceOf(gateway.ledger, wallet.address)
  return { authorization: `Bearer ${token}`, upstream, chain, balance }
}
const heightName = 'x-cosmos-block-height'

test('the height that a Cosmos call names reaches the node, at plain URLs and at /rpc', async () => {
  const { authorization, upstream, chain } = await cosmosCustomer()
  for (const name of [heightName, 'Grpc-Metadata-X-Cosmos-Block-Height'])
    await gateway.api
      .get(`/v1/${chain}/rest/bank`)
      .set({ authorization, [name]: '12' })
      .expect(200)
  await gateway.api
    .post('/rpc')
    .set({ authorization, [heightName]: '9223372036854775807' })
    .send({
      ecosystem: 'cosmos',
      chain_id: chain,
      resource: 'bank',
      method: 'GET',
      transport: 'rest',
      payload: {},
    })
    .expect(200)
  await gateway.api.get(`/v1/${chain}/rest/bank`).set({ authorization }).expect(200)
  expect(upstream.requests.map(({ headers }) => headers[heightName])).toEqual([
    '12',
    '12',
    '9223372036854775807',
    undefined,
  ])
})

test.each<Record<string, string>>([
  { [heightName]: '' },
  { [heightName]: '-1' },
  { [heightName]: '0x10' },
  { [heightName]: '007' },
  { [heightName]: '1, 2' },
  { [heightName]: '9223372036854775808' },
  { [heightName]: '5', 'grpc-metadata-x-cosmos-block-height': '6' },
  { 'grpc-metadata-x-other': '1' },
  { 'grpc-timeout': '1S' },
])('the headers %j are refused, and nothing is charged', async (headers) => {
  const { authorization, upstream, chain, balance } = await cosmosCustomer()
  const refused = await gateway.api.get(`/v1/${chain}/rest/bank`).set({ authorization, ...headers })
  expect(outcomeOf(refused)).toEqual([400, 'INVALID_REQUEST'])
  expect([upstream.requests, await balance()]).toEqual([[], 10n])
})

test('a bundle’s signature, which no node would see, is refused as JSON-RPC', async () => {
  const { authorization } = await cosmosCustomer()
  const headers = { authorization, 'x-flashbots-signature': '0x:0x' }
  const answer = await post(gateway.api, '/v1/84532', blockNumber, headers)
  expect([answer.status, answer.body]).toMatchObject([200, { error: { code: -32_600 } }])
})

test('pages may send the height, and read that of the answer', async () => {
  const { headers } = await gateway.api
    .options('/v1/84532')
    .set({ origin: 'https://app.example', 'access-control-request-method': 'GET' })
  expect(headers['access-control-allow-headers']).toContain(heightName)
  const answer = await gateway.api.get('/health').set({ origin: 'https://app.example' })
  expect(answer.headers['access-control-expose-headers']).toContain('Grpc-Metadata-X-Cosmos-Block-Height')
})
