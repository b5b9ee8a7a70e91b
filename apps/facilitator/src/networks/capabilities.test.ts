import { USDC_ADDRESS } from '@tollgate/devnet'
import { type FacilitatorDocument, type SupportedByFacilitator } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ownChain } from '../testing/chain'
import { newClient, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'

const NETWORK = 'eip155:84532'
let facilitator: TestFacilitator
let api: TestFacilitator['api']
beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { PUBLIC_URL: 'https://facilitator.example' } })
  api = facilitator.api
})
afterAll(closeAll)

const kinds = [
  { x402Version: 1 as const, scheme: 'exact', network: 'base-sepolia' },
  { x402Version: 2 as const, scheme: 'exact', network: NETWORK },
]

test('GET /supported lists the kinds of both versions, extensions and signers, to all', async () => {
  const answer = await api.get('/supported').expect(200)
  expect(answer.body).toEqual({
    kinds,
    extensions: ['eip2612GasSponsoring', 'bazaar'],
    signers: { [NETWORK]: [facilitator.signers[0]!.address] },
  } satisfies SupportedByFacilitator)
})

test('GET /supported under /api/v1 and /api/v2 still requires a client key, and answers as before', async () => {
  for (const path of ['/api/v1/supported', '/api/v2/supported'])
    expect(outcomeOf(await api.get(path))).toEqual([401, 'UNAUTHORIZED'])
  const answer = await api
    .get('/api/v2/supported')
    .set(await newClient(api))
    .expect(200)
  expect(answer.body).toMatchObject({ kinds: kinds.slice(1), extensions: ['eip2612GasSponsoring'] })
})

test('GET /.well-known/x402 says what is supported, and where everything is', async () => {
  const document = (await api.get('/.well-known/x402').expect(200)).body as FacilitatorDocument
  expect(document).toMatchObject({
    x402Version: 2,
    kind: 'facilitator',
    facilitator: {
      baseUrl: 'https://facilitator.example',
      kinds,
      assets: [
        {
          network: NETWORK,
          address: USDC_ADDRESS,
          symbol: 'USDC',
          decimals: 6,
          minAmount: '1000',
          extra: { name: 'USDC', version: '2' },
        },
      ],
    },
  })
  const { facilitator: block, discovery, docs, openapi, llms } = document
  const { verify, settle, supported } = block.endpoints
  for (const path of [verify, settle]) expect(outcomeOf(await api.post(path))).toEqual([401, 'UNAUTHORIZED'])
  const pages = [docs, openapi, llms].map((page) => page.slice(block.baseUrl.length))
  for (const path of [
    supported,
    discovery.resources,
    `${discovery.search}?query=a`,
    `${discovery.merchant}?payTo=a`,
    ...pages,
  ])
    await api.get(path).expect(200)
})

test('while the network does not answer, nothing is supported', async () => {
  const chain = await ownChain()
  const away = await testFacilitator({ rpcUrl: chain.rpcUrl })
  await chain.stop()
  expect((await away.api.get('/supported').expect(200)).body).toEqual({
    kinds: [],
    extensions: ['bazaar'],
    signers: {},
  })
})

test('requests are limited by address', async () => {
  const limited = await testFacilitator({ variables: { RATE_LIMIT_READS_PER_MINUTE: '2' } })
  for (let count = 0; count < 2; count++) await limited.api.get('/supported').expect(200)
  for (const path of ['/supported', '/.well-known/x402'])
    expect(outcomeOf(await limited.api.get(path))).toEqual([429, 'RATE_LIMITED'])
})

describe('pages of any origin', () => {
  const from = { Origin: 'https://any.example' }
  const preflight = (method: string) => ({ ...from, 'Access-Control-Request-Method': method })
  const open = [
    '/supported',
    '/.well-known/x402',
    ...['', '/api/v1', '/api/v2'].map((base) => `${base}/discovery/resources`),
    ...['', '/api/v2'].flatMap((base) => [
      `${base}/discovery/search?query=a`,
      `${base}/discovery/merchant?payTo=a`,
    ]),
  ]

  test.each(open)('may read %s', async (path) => {
    const { headers } = await api.get(path).set(from).expect(200)
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['access-control-allow-credentials']).toBeUndefined()
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin')
    const asked = await api.options(path).set(preflight('GET')).expect(204)
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET,HEAD',
      'access-control-allow-headers': 'content-type,x-request-id',
    })
  })

  test('may read the errors too, and send nothing but reads', async () => {
    const { headers } = await api.get('/discovery/search').set(from).expect(400)
    expect(headers['access-control-allow-origin']).toBe('*')
    const posted = await api.post('/supported').set(from).expect(405)
    expect([posted.headers['access-control-allow-origin'], posted.headers['allow']]).toEqual([
      undefined,
      'GET, HEAD',
    ])
  })

  test.each([
    '/verify',
    '/settle',
    '/api/v1/supported',
    '/api/v2/supported',
    '/api/v1/clients',
    '/api/v1/resources',
  ])('may not call %s', async (path) => {
    for (const answer of [await api.options(path).set(preflight('POST')), await api.get(path).set(from)])
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })
})
