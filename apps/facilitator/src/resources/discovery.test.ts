import { USDC_ADDRESS } from '@tollgate/devnet'
import {
  DiscoveryList,
  DiscoveryListV2,
  type DiscoveredResource,
  type DiscoveredResourceV2,
} from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { bearer, newResource, PAY_TO, registration, resourcesOf, way } from '../testing/resource'

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let owner: string
let aheadMs = 0

beforeAll(async () => {
  const networks = [
    { name: 'our-own-chain', chainId: '31337' },
    // A name that version 1 maps to another chain.
    { name: 'polygon', chainId: '31338' },
  ]
  const now = () => new Date(Date.now() + aheadMs)
  facilitator = await testFacilitator({ networks, now })
  api = facilitator.api
  owner = (await newUser(api)).accessToken
})
beforeEach(async () => {
  await facilitator.database.prisma.resource.deleteMany()
})
afterAll(closeAll)

type List<I> = { items: I[]; pagination: { limit: number; offset: number; total: number } }
const listed = async (query: object = {}, path = '/api/v1/discovery/resources') =>
  (await api.get(path).query(query).expect(200)).body as List<DiscoveredResource>
const listedV2 = async (query: object = {}) =>
  (await api.get('/api/v2/discovery/resources').query(query).expect(200)).body as List<DiscoveredResourceV2>
const urlsOf = ({ items }: List<{ resource: string }>) => items.map(({ resource }) => resource)

const url = (path: string) => `https://shop.example/${path}`
const register = (changes: object) => newResource(api, owner, changes)

async function newAsset(changes: object = {}) {
  const { prisma } = facilitator.database
  const facts = { network: 'base-sepolia', symbol: 'T', decimals: 6, name: 'Test', version: '1' }
  return prisma.asset.create({ data: { ...facts, asset: Wallet.createRandom().address, ...changes } })
}

describe('GET /discovery/resources', () => {
  test('lists the requirements of each resource, as in a 402 of version 1', async () => {
    const metadata = {
      description: 'The weather, now',
      mimeType: 'application/json',
      maxTimeoutSeconds: 300,
      city: { of: ['Oslo'] },
    }
    const payTo = Wallet.createRandom().address
    const id = await register({ accepts: [way({ network: '84532' }), way({ payTo })], metadata })
    const requirements = {
      scheme: 'exact',
      network: 'base-sepolia',
      maxAmountRequired: '10000',
      resource: 'https://shop.example/weather',
      description: 'The weather, now',
      mimeType: 'application/json',
      payTo: PAY_TO,
      maxTimeoutSeconds: 300,
      asset: USDC_ADDRESS,
      extra: { name: 'USDC', version: '2' },
    }
    const { updatedAt } = await facilitator.database.prisma.resource.findUniqueOrThrow({ where: { id } })
    const expected = {
      x402Version: 1,
      items: [
        {
          resource: 'https://shop.example/weather',
          type: 'http',
          x402Version: 1,
          accepts: [requirements, { ...requirements, payTo }],
          lastUpdated: updatedAt.toISOString(),
          metadata,
          source: 'registered',
          verified: false,
        },
      ],
      pagination: { limit: 100, offset: 0, total: 1 },
    }
    // Below /api/v1 and /api/v2 the path is the version.
    for (const [query, path] of [
      [{}, '/api/v1/discovery/resources'],
      [{ x402Version: '2' }, '/api/v1/discovery/resources'],
      [{ x402Version: '1' }, '/discovery/resources'],
    ] as const)
      expect(await listed(query, path)).toEqual(expected)
    expect(DiscoveryList.parse(expected)).toEqual(expected)
    const empty = { x402Version: 2, items: [], pagination: { limit: 100, offset: 0, total: 0 } }
    expect(await listedV2()).toEqual(empty)
    expect(await listedV2({ x402Version: '1' })).toEqual(empty)
    expect(await listed({}, '/discovery/resources')).toEqual(empty)
  })

  test('lists no invisible characters of a registration, which keeps them', async () => {
    const hidden = '\u202e\u200b\u{e0041}'
    const metadata = { description: `The${hidden} weather`, by: [`us${hidden}`], [`to${hidden}`]: 1 }
    const shown = { description: 'The weather', by: ['us'] }
    await register({ metadata })
    const [item] = (await listed()).items
    expect([item?.accepts[0]?.description, item?.metadata]).toEqual(['The weather', shown])
    expect((await resourcesOf(api)).resources[0]?.metadata).toEqual(metadata)
    await register({ metadata, x402Version: 2 })
    expect((await listedV2()).items).toMatchObject([{ description: 'The weather', metadata: shown }])
  })

  test.each([
    [{}, ['', '', 60]],
    [{ description: 5, mimeType: ['text/html'], maxTimeoutSeconds: '300' }, ['', '', 60]],
    [{ description: [], mimeType: 'y'.repeat(257), maxTimeoutSeconds: 0 }, ['', '', 60]],
    [{ maxTimeoutSeconds: 86_401 }, ['', '', 60]],
    [{ maxTimeoutSeconds: 1.5 }, ['', '', 60]],
    [{ maxTimeoutSeconds: 86_400 }, ['', '', 86_400]],
    [{ description: 'x'.repeat(4_000), mimeType: 'text/html' }, ['x'.repeat(4_000), 'text/html', 60]],
  ])('takes from metadata what a payment request may hold: %.80j', async (metadata, expected) => {
    await register({ metadata })
    const { items } = await listed()
    const [accepted] = items[0]?.accepts ?? []
    expect([accepted?.description, accepted?.mimeType, accepted?.maxTimeoutSeconds]).toEqual(expected)
    expect(items[0]?.metadata).toEqual(metadata)
  })

  test('omits resources without a URL, of another type or of another version', async () => {
    await register({ resource: '/weather' })
    await register({ resource: '/http' })
    await register({ type: 'mcp' })
    await register({ x402Version: 2 })
    await register({ resource: url('a') })
    await register({ resource: 'http://shop.example/b', type: 'endpoint' })
    const { items, pagination } = await listed()
    expect(items.map(({ resource, type }) => [resource, type])).toEqual([
      [url('a'), 'http'],
      ['http://shop.example/b', 'http'],
    ])
    expect(pagination.total).toBe(2)
  })

  test('omits a payment option while its asset is inactive, and the resource if none remains', async () => {
    const { id, asset } = await newAsset()
    const set = (changes: object) =>
      facilitator.database.prisma.asset.update({ where: { id }, data: changes })
    await register({ resource: url('both'), accepts: [way({ asset }), way()] })
    await register({ resource: url('only'), accepts: [way({ asset })] })
    const assets = async () =>
      (await listed()).items.map(({ accepts }) => accepts.map((accepted) => accepted.asset))
    expect(await assets()).toEqual([[asset, USDC_ADDRESS], [asset]])

    for (const changes of [{ active: false }, { name: null }, { version: null }]) {
      await set(changes)
      expect(await assets()).toEqual([[USDC_ADDRESS]])
      expect((await listed()).pagination.total).toBe(1)
      expect((await resourcesOf(api)).resources).toHaveLength(2)
      await set({ active: true, name: 'Test', version: '1' })
    }
    expect(await assets()).toEqual([[asset, USDC_ADDRESS], [asset]])
  })

  test('checks the asset on the network of the offer, not the same address on another', async () => {
    const { asset } = await newAsset({ network: 'our-own-chain' })
    const { id } = await newAsset({ asset })
    const accepts = [way({ asset }), way({ asset, network: 'our-own-chain' })]
    await register({ accepts, x402Version: 2 })
    await register({ accepts: accepts.slice(0, 1), x402Version: 2 })
    await facilitator.database.prisma.asset.update({ where: { id }, data: { active: false } })
    const { items, pagination } = await listedV2()
    expect(items.map((item) => item.accepts.map(({ network }) => network))).toEqual([['eip155:31337']])
    expect(pagination.total).toBe(1)
  })

  test('omits networks that version 1 does not know or maps to another chain, and unconfigured ones', async () => {
    const own = await newAsset({ network: 'our-own-chain' })
    const misnamed = await newAsset({ network: 'polygon' })
    const gone = await newAsset({ network: 'gone' })
    const ways = [own, misnamed].map(({ network, asset }) => way({ network, asset }))
    await register({ resource: url('v1'), accepts: [...ways, way()] })
    await register({ resource: url('none'), accepts: ways })
    await register({ resource: url('v2'), accepts: [...ways, way()], x402Version: 2 })
    const left = await register({ resource: url('gone'), x402Version: 2 })
    await facilitator.database.prisma.resource.update({
      where: { id: left },
      data: { accepts: [way({ network: 'gone', asset: gone.asset })] },
    })

    const v1 = await listed()
    expect(
      v1.items.map(({ resource, accepts }) => [resource, accepts.map(({ network }) => network)]),
    ).toEqual([[url('v1'), ['base-sepolia']]])
    const v2 = await listedV2()
    expect(
      v2.items.map(({ resource, accepts }) => [resource, accepts.map(({ network }) => network)]),
    ).toEqual([[url('v2'), ['eip155:31337', 'eip155:31338', 'eip155:84532']]])
    expect([v1.pagination.total, v2.pagination.total]).toEqual([1, 1])
  })

  test('counts and pages only listed resources', async () => {
    const expected: string[] = []
    for (let index = 0; index < 30; index++) {
      const isPath = index % 3 === 1
      const resource = isPath ? `/${index}` : url(`${index}`)
      await register({ resource, x402Version: index % 3 === 2 ? 2 : 1 })
      if (index % 3 === 0) expected.push(resource)
    }
    const pages = [0, 4, 8].map((offset) => listed({ offset, limit: 4 }))
    const seen = await Promise.all(pages)
    expect(seen.flatMap(urlsOf)).toEqual(expected)
    expect(seen.map(({ pagination }) => pagination)).toEqual(
      [0, 4, 8].map((offset) => ({ limit: 4, offset, total: 10 })),
    )
    for (const offset of [10, 11, 2_147_483_647])
      expect(await listed({ offset })).toEqual({
        x402Version: 1,
        items: [],
        pagination: { limit: 100, offset, total: 10 },
      })
  })

  test('returns changed requirements at once', async () => {
    const id = await register({})
    const [before] = (await listed()).items
    aheadMs += 1_000
    await api
      .put(`/api/v1/resources/${id}`)
      .set(bearer(owner))
      .send(registration({ accepts: [way({ maxAmountRequired: '20000' })] }))
      .expect(200)
    const [after] = (await listed()).items
    expect(after?.accepts.map(({ maxAmountRequired }) => maxAmountRequired)).toEqual(['20000'])
    const [earlier = 0, later] = [before, after].map((item) => Date.parse(item?.lastUpdated ?? ''))
    expect(later).toBeGreaterThanOrEqual(earlier + 1_000)
  })

  test.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1e9',
    'offset=NaN',
    'offset=-1',
    'type=a&type=b',
    'limit=',
  ])('refuses ?%s', async (query) => {
    for (const path of ['/discovery/resources', '/api/v1/discovery/resources', '/api/v2/discovery/resources'])
      expect(outcomeOf(await api.get(`${path}?${query}`))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('the filters of GET /discovery/resources', () => {
  const other = Wallet.createRandom().address

  test.each<[object, string[]]>([
    [{ type: 'http' }, ['a', 'b', 'c']],
    [{ type: 'endpoint' }, []],
    [{ type: 'mcp' }, []],
    [{ type: '' }, []],
    [{ scheme: 'exact' }, ['a', 'b', 'c']],
    [{ scheme: 'upto' }, []],
    [{ extensions: 'bazaar' }, []],
    [{ network: 'eip155:84532' }, ['a', 'b']],
    [{ network: '31337' }, ['c']],
    [{ network: 'eip155:1' }, []],
    [{ network: '__proto__' }, []],
    [{ payTo: PAY_TO.toLowerCase() }, ['a', 'c']],
    [{ payTo: other }, ['b']],
    [{ payTo: Wallet.createRandom().address }, []],
    [{ payTo: '\u0000' }, []],
    [{ payTo: "' or 1=1 --" }, []],
    [{ payTo: PAY_TO, network: '84532', scheme: 'exact', type: 'http' }, ['a']],
    [{ payTo: other, network: 'our-own-chain' }, []],
    [{ what: 'is unknown' }, ['a', 'b', 'c']],
  ])('%j', async (query, expected) => {
    const own = await newAsset({ network: 'our-own-chain' })
    await register({ resource: url('a'), x402Version: 2 })
    await register({ resource: url('b'), x402Version: 2, accepts: [way({ payTo: other })] })
    const accepts = [way({ network: own.network, asset: own.asset })]
    await register({ resource: url('c'), x402Version: 2, accepts })
    const found = await listedV2(query)
    expect(urlsOf(found)).toEqual(expected.map(url))
    expect(found.pagination.total).toBe(expected.length)
  })
})

test('GET /api/v2/discovery/resources lists version 2 resources in the version 2 format', async () => {
  await register({ resource: url('old') })
  const id = await register({ x402Version: 2, accepts: [way(), way({ maxAmountRequired: '20000' })] })
  const { updatedAt } = await facilitator.database.prisma.resource.findUniqueOrThrow({ where: { id } })
  const requirements = {
    scheme: 'exact',
    network: 'eip155:84532',
    amount: '10000',
    asset: USDC_ADDRESS,
    payTo: PAY_TO,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  }
  const expected = {
    x402Version: 2,
    items: [
      {
        resource: 'https://shop.example/weather',
        type: 'http',
        x402Version: 2,
        accepts: [requirements, { ...requirements, amount: '20000' }],
        description: 'The weather, now',
        mimeType: 'application/json',
        lastUpdated: updatedAt.toISOString(),
        metadata: { description: 'The weather, now', mimeType: 'application/json' },
        source: 'registered',
        verified: false,
      },
    ],
    pagination: { limit: 100, offset: 0, total: 1 },
  }
  expect(await listedV2()).toEqual(expected)
  expect(DiscoveryListV2.parse(expected)).toEqual(expected)
})
