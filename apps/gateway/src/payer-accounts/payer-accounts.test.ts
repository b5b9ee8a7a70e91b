import { closeAll } from '@tollgate/testing'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, getRefusingUrl, startUpstream, type Answer } from '../testing/upstream'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
afterAll(closeAll)

const ADDRESS = 'cosmos1pkptre7fdkl6gfrzlesjjvhxhlc3r4gmmk8rs6'
const ACCOUNT = '/cosmos.auth.v1beta1.Query/Account'
const CONFIG = '/cosmos.base.node.v1beta1.Service/Config'
const hexOf = (...bytes: (number | string)[]) =>
  Buffer.concat(
    bytes.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))),
  ).toString('hex')
const data = hexOf(10, ADDRESS.length, ADDRESS)

const status = { jsonrpc: '2.0', id: 1, method: 'status', params: {} }
const queryOf = (params: object) => ({ jsonrpc: '2.0', id: 'a', method: 'abci_query', params })
const account = queryOf({ path: ACCOUNT, data, height: '0', prove: false })
const config = queryOf({ path: CONFIG, data: '', height: '0', prove: false })

/** The nodes of a new Cosmos chain. */
async function chainOf(...nodes: (Answer | 'refusing')[]) {
  const upstreams = await Promise.all(
    nodes.map(async (answer) =>
      answer === 'refusing' ? { url: await getRefusingUrl(), requests: [] } : startUpstream(answer),
    ),
  )
  const chain = await gateway.chain({ category: 'cosmos', rpc: upstreams.map(({ url }) => url) })
  return { chain, requests: upstreams.map(({ requests }) => requests) }
}
const ask = (chain: string, body: object) => gateway.api.post(`/accounts/${chain}`).send(body)

const nodeStatus = {
  node_info: { network: 'hub-1', moniker: 'provider-7', listen_addr: 'tcp://10.0.0.7:26656' },
  sync_info: { latest_block_height: '7', catching_up: false, latest_block_hash: 'AB' },
  validator_info: { address: 'AB' },
}
const response = { code: 0, codespace: '', log: '', value: 'CgA=', height: '7' }

test('a payer reads its account, the prices of gas and the newest block, and nothing else of a node', async () => {
  const queried = { response: { ...response, key: 'AB==', proofOps: {} } }
  const { chain, requests } = await chainOf((res, { body }) =>
    res.end(
      JSON.stringify({ jsonrpc: '2.0', id: 1, result: body.includes('abci_query') ? queried : nodeStatus }),
    ),
  )
  for (const [body, result] of [
    [account, { response }],
    [config, { response }],
    [
      status,
      { node_info: { network: 'hub-1' }, sync_info: { latest_block_height: '7', catching_up: false } },
    ],
  ] as const) {
    for (const name of [chain, `cosmos:${chain}`]) {
      const answer = await ask(name, { ...body, more: 'x'.repeat(100) })
        .expect(200)
        .expect('cache-control', 'no-store')
      expect(answer.body).toEqual({ jsonrpc: '2.0', id: body.id, result })
    }
    const { url, headers, body: sent } = requests[0]!.at(-1)!
    expect([url, JSON.parse(sent.toString())]).toEqual(['/', { ...body, id: 1 }])
    expect(headers).not.toHaveProperty('authorization')
  }
})

const refusedBodies: [string, object][] = [
  ['a transaction', { jsonrpc: '2.0', id: 1, method: 'broadcast_tx_sync', params: { tx: 'AB==' } }],
  [
    'another query',
    queryOf({ path: '/cosmos.bank.v1beta1.Query/AllBalances', data, height: '0', prove: false }),
  ],
  ['a store of the node', queryOf({ path: '/store/acc/key', data, height: '0', prove: false })],
  ['a proof', queryOf({ path: ACCOUNT, data, height: '0', prove: true })],
  ['an old block', queryOf({ path: ACCOUNT, data, height: '1', prove: false })],
  ['no address', queryOf({ path: ACCOUNT, data: hexOf(10, 5, 'alice') })],
  ['a cut address', queryOf({ path: ACCOUNT, data: data.slice(0, -2) })],
  ['more than an address', queryOf({ path: ACCOUNT, data: `${data}0a00` })],
  ['no hex', queryOf({ path: ACCOUNT, data: 'zz' })],
  ['a long address', queryOf({ path: ACCOUNT, data: hexOf(10, 127, `a1${'q'.repeat(125)}`) })],
  ['data where there is none', queryOf({ path: CONFIG, data })],
  ['a batch', [status]],
  ['a long id', { ...status, id: 'x'.repeat(65) }],
  ['parameters of a status', { ...status, method: 'status', params: ['x'] }],
]
test.each(refusedBodies)('%s is not forwarded', async (_, body) => {
  const { chain, requests } = await chainOf(answers.result(nodeStatus))
  expect(outcomeOf(await ask(chain, body))).toEqual([400, 'INVALID_REQUEST'])
  expect(requests).toEqual([[]])
})

test('a body of more than 2 KiB, and a chain that has no nodes or is of another ecosystem, are refused', async () => {
  const { chain } = await chainOf(answers.result(nodeStatus))
  expect(outcomeOf(await ask(chain, { ...status, more: 'x'.repeat(2_048) }))).toEqual([
    413,
    'PAYLOAD_TOO_LARGE',
  ])
  const rest = await gateway.chain({ category: 'cosmos', rest: ['https://node.example'] })
  for (const name of ['nowhere', '84532', 'eip155:84532', 'base-sepolia', rest, '%2e%2e'])
    expect(outcomeOf(await ask(name, status))).toEqual([404, 'NOT_FOUND'])
  expect(outcomeOf(await gateway.api.get(`/accounts/${chain}`))).toEqual([405, 'METHOD_NOT_ALLOWED'])
})

test('the next node is asked if one is away or broken', async () => {
  const { chain, requests } = await chainOf('refusing', answers.status(502), answers.result(nodeStatus))
  await ask(chain, status).expect(200)
  expect(requests.map((list) => list.length)).toEqual([0, 1, 1])
})

test.each<[string, Answer]>([
  ['no JSON', answers.status(200, '<html>')],
  ['another result', answers.result({ peers: [] })],
  ['300 kB', answers.status(200, 'x'.repeat(300_000))],
  ['a redirect', answers.status(302, '', { location: 'http://169.254.169.254/' })],
  ['401', answers.status(401, '{"jsonrpc":"2.0","error":{"code":1,"message":"no key"}}')],
])('an answer of a node that is %s is not passed on', async (_, answer) => {
  const { chain } = await chainOf(answer)
  expect(outcomeOf(await ask(chain, status))).toEqual([500, 'UPSTREAM_FAILED'])
})

test('an error of a node is passed on, without its data', async () => {
  const error = { code: -32603, message: 'Internal error', data: 'at 10.0.0.7' }
  const { chain } = await chainOf(answers.status(500, JSON.stringify({ jsonrpc: '2.0', id: 1, error })))
  expect((await ask(chain, status).expect(200)).body).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32603, message: 'Internal error' },
  })
})

test('at most 32 wait for nodes at once, and a page that leaves makes room', async () => {
  let open = 0
  let onOpen: () => void = () => undefined
  const { chain } = await chainOf((res) => {
    open++
    onOpen()
    res.once('close', () => open--)
  })
  const leaving = new AbortController()
  const full = new Promise<void>((resolve) => {
    onOpen = () => {
      if (open === 32) resolve()
    }
  })
  const waiting = Array.from({ length: 32 }, () =>
    fetch(`${gateway.url}/accounts/${chain}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(status),
      signal: leaving.signal,
    }).catch(() => undefined),
  )
  await full
  expect(outcomeOf(await ask(chain, status))).toEqual([503, 'OVERLOADED'])
  leaving.abort()
  await Promise.all(waiting)
  const { chain: other } = await chainOf(answers.result(nodeStatus))
  for (let answer = await ask(other, status); answer.status !== 200; answer = await ask(other, status))
    expect(outcomeOf(answer)).toEqual([503, 'OVERLOADED'])
})

test('requests are limited by address, together with other reads', async () => {
  const limited = await testGateway({ environment: { RATE_LIMIT_READS_PER_MINUTE: 2 } })
  await limited.api.get(`/credits/${gateway.wallet().address}`).expect(200)
  await limited.api.post('/accounts/nowhere').send(status).expect(404)
  expect(outcomeOf(await limited.api.post('/accounts/nowhere').send(status))).toEqual([429, 'RATE_LIMITED'])
})
