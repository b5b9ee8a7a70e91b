import { type DiscoveredResource, type DiscoveredResourceV2 } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { createCatalogStore, type CatalogEntry } from '../catalog/catalog-store'
import { bazaarOf } from '../testing/bazaar'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { newResource, PAY_TO, way } from '../testing/resource'
import { DISCOVERED, MAX_COUNTED } from './discovery-sql'
import { SEARCHED_ALL, SEARCHED_ANY } from './search-sql'

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let owner: string
let userId: number

beforeAll(async () => {
  facilitator = await testFacilitator()
  api = facilitator.api
  const user = await newUser(api)
  owner = user.accessToken
  userId = (await facilitator.database.prisma.user.findUniqueOrThrow({ where: { email: user.email } })).id
})
afterEach(async () => {
  await facilitator.database.prisma.resource.deleteMany()
  await facilitator.database.prisma.catalogedResource.deleteMany()
})
afterAll(closeAll)

const url = (path: string) => `https://shop.example/${path}`
const register = (path: string, metadata: object = {}, changes: object = {}) =>
  newResource(api, owner, { resource: url(path), x402Version: 2, metadata, ...changes })
const catalog = (path: string, details: Record<string, unknown> = {}, changes: Partial<CatalogEntry> = {}) =>
  createCatalogStore(facilitator.database).catalog({
    userId,
    x402Version: 2,
    resource: url(path),
    origin: 'https://shop.example',
    type: 'http',
    operation: 'GET',
    accepted: way(),
    details,
    declared: bazaarOf(),
    paidAt: new Date(),
    ...changes,
  })

type Found = {
  x402Version: number
  resources: (DiscoveredResourceV2 | DiscoveredResource)[]
  partialResults: boolean
  pagination: { limit: number; cursor: string | null }
}
const search = async (query: object, path = '/discovery/search') =>
  (await api.get(path).query(query).expect(200)).body as Found
const pathsOf = ({ resources }: Found) => resources.map(({ resource }) => resource.slice(url('').length))

describe('GET /discovery/search', () => {
  test.each<[string, string[]]>([
    ['weather', ['oslo', 'rain']],
    ['Forecasts', ['rain', 'tool']],
    ['weather forecast', ['rain']],
    ['meteo', ['rain']],
    ['rain', ['rain']],
    ['nordic', ['rain']],
    ['predict', ['tool']],
    // No resource has all words.
    ['weather elephants', ['oslo', 'rain']],
    ['the', []],
    ['zebra', []],
    ["'); DROP TABLE resources; --", []],
    ['a & b | !c:* <->', []],
    ['%', []],
  ])('%s', async (query, expected) => {
    await register('oslo', { description: 'The weather in Oslo' })
    await register('news', { description: 'What happens' })
    await catalog('rain', { description: 'Weather forecasts', serviceName: 'Meteo', tags: ['nordic'] })
    const input = { type: 'mcp', toolName: 'forecast', description: 'Predicts', inputSchema: {} }
    await catalog(
      'tool',
      {},
      { type: 'mcp', operation: 'forecast', declared: { info: { input }, schema: {} } },
    )
    for (const path of ['/discovery/search', '/api/v2/discovery/search']) {
      const found = await search({ query }, path)
      expect(pathsOf(found).sort()).toEqual(expected)
      expect(found).toMatchObject({
        x402Version: 2,
        partialResults: false,
        pagination: { limit: 20, cursor: null },
      })
    }
  })

  test('refuses control characters, which Postgres cannot search for', async () => {
    for (const path of ['/discovery/search', '/api/v2/discovery/search'])
      expect(outcomeOf(await api.get(path).query({ query: '\u0000' }))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('filters as the list does, and lists each version in its own format', async () => {
    const payTo = Wallet.createRandom().address
    await register('a', { description: 'weather' })
    await catalog('b', { description: 'weather' }, { accepted: way({ payTo }) })
    await catalog('c', { description: 'weather' }, { x402Version: 1, declared: { input: {} } })
    const query = 'weather'
    expect(pathsOf(await search({ query, payTo: payTo.toLowerCase() }))).toEqual(['b'])
    expect(pathsOf(await search({ query, extensions: 'bazaar' }))).toEqual(['b'])
    expect(pathsOf(await search({ query, type: 'mcp' }))).toEqual([])
    expect(pathsOf(await search({ query, scheme: 'upto' }))).toEqual([])
    for (const network of ['base-sepolia', '84532', 'eip155:84532'])
      expect(pathsOf(await search({ query, network }))).toEqual(['a', 'b'])
    expect(pathsOf(await search({ query, network: 'eip155:1' }))).toEqual([])
    const old = await search({ query, x402Version: 1 })
    expect(pathsOf(old)).toEqual(['c'])
    expect(old.resources[0]?.accepts[0]).toMatchObject({
      network: 'base-sepolia',
      maxAmountRequired: '10000',
    })
    await facilitator.database.prisma.asset.updateMany({ data: { active: false } })
    expect(pathsOf(await search({ query }))).toEqual([])
    await facilitator.database.prisma.asset.updateMany({ data: { active: true } })
  })

  test('shows what is registered and cataloged once, and what is cataloged if only that is found', async () => {
    await register('a', { description: 'weather' })
    await catalog('a', { description: 'weather', tags: ['nordic'] })
    const sourcesOf = async (query: object) =>
      (await search(query)).resources.map(({ resource, source }) => [resource, source])
    for (const query of ['weather', 'weather elephants'])
      expect(await sourcesOf({ query })).toEqual([[url('a'), 'registered']])
    const cataloged = [[url('a'), 'cataloged']]
    expect(await sourcesOf({ query: 'nordic' })).toEqual(cataloged)
    expect(await sourcesOf({ query: 'weather', extensions: 'bazaar' })).toEqual(cataloged)
    const list = async (query: object) =>
      (await api.get('/api/v2/discovery/resources').query(query)).body as {
        items: { source: string }[]
        pagination: { total: number }
      }
    expect(await list({})).toMatchObject({ items: [{ source: 'registered' }], pagination: { total: 1 } })
    expect(await list({ extensions: 'bazaar' })).toMatchObject({
      items: [{ source: 'cataloged' }],
      pagination: { total: 1 },
    })
  })

  test('pages by its cursor, the best matches first', async () => {
    for (let index = 0; index < 5; index++) await catalog(`w${index}`, { description: 'weather' })
    await catalog('weather', { description: 'weather, weather, weather' })
    const seen: string[] = []
    let cursor: string | null = '0'
    while (cursor !== null) {
      const page: Found = await search({ query: 'weather', limit: 2, cursor })
      expect(page.resources.length).toBeLessThanOrEqual(2)
      seen.push(...pathsOf(page))
      cursor = page.pagination.cursor
    }
    expect(seen[0]).toBe('weather')
    expect(new Set(seen).size).toBe(6)
    expect((await search({ query: 'weather', limit: 100_000 })).pagination.limit).toBe(100)
  })

  test.each([
    '',
    'query=',
    `query=${'x'.repeat(257)}`,
    'query=a&query=b',
    'query=a&cursor=-1',
    'query=a&limit=0',
  ])('refuses ?%s', async (query) => {
    expect(outcomeOf(await api.get(`/discovery/search?${query}`))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('GET /discovery/merchant', () => {
  test('lists what pays an address, of both sources', async () => {
    const payTo = Wallet.createRandom().address
    await register('a', {}, { accepts: [way(), way({ payTo })] })
    await register('b')
    await catalog('c', {}, { accepted: way({ payTo }) })
    await catalog('d', {}, { accepted: way({ payTo }), x402Version: 1, declared: { input: {} } })
    for (const path of ['/discovery/merchant', '/api/v2/discovery/merchant']) {
      const answer = await api.get(path).query({ payTo: payTo.toLowerCase() }).expect(200)
      const found = answer.body as Found & { payTo: string }
      expect([found.payTo, found.pagination]).toEqual([
        payTo.toLowerCase(),
        { limit: 20, offset: 0, total: 2 },
      ])
      expect(pathsOf(found)).toEqual(['a', 'c'])
    }
    const page = await api.get('/discovery/merchant').query({ payTo, limit: 1, offset: 1 }).expect(200)
    expect(pathsOf(page.body as Found)).toEqual(['c'])
    const old = await api.get('/discovery/merchant').query({ payTo, x402Version: 1 }).expect(200)
    expect(pathsOf(old.body as Found)).toEqual(['d'])
  })

  test.each(['0x0', 'elsewhere', "' or 1=1 --", '\u0000', Wallet.createRandom().address])(
    'lists nothing for %j',
    async (payTo) => {
      await register('a')
      const answer = await api.get('/discovery/merchant').query({ payTo }).expect(200)
      expect(answer.body).toMatchObject({ payTo, resources: [], pagination: { total: 0 } })
    },
  )

  test('requires an address', async () => {
    expect(outcomeOf(await api.get('/discovery/merchant'))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('of many resources', () => {
  const MANY = 20_000

  async function fill() {
    const { pool } = facilitator.database
    await pool.query(
      `INSERT INTO resources (user_id, resource, type, x402_version, accepts, metadata, updated_at)
       SELECT $1, 'https://shop.example/r' || n, 'http', 2, jsonb_build_array($2::jsonb || jsonb_build_object('payTo', 'r' || n)),
         jsonb_build_object('description', 'common words, and rare' || n), now()
       FROM generate_series(1, ${MANY}) AS n`,
      [userId, JSON.stringify(way())],
    )
    await pool.query(
      `INSERT INTO cataloged_resources (id, user_id, x402_version, resource, origin, type, operation, pay_to, accepts, offers,
         details, declared, last_paid_at)
       SELECT n, $1, 2, 'https://shop.example/c' || n, 'https://shop.example', 'http', 'GET', 'c' || n,
         jsonb_build_array($2::jsonb), ARRAY[$3], jsonb_build_object('description', 'common words, and rare' || n), '{}', now()
       FROM generate_series(1, ${MANY}) AS place, LATERAL (SELECT 1 + place * 7919 % ${MANY} AS n) AS shuffled`,
      [userId, JSON.stringify(way()), `base-sepolia ${way().asset}`],
    )
    await pool.query('ANALYZE resources, cataloged_resources')
  }

  const planOf = async (
    text: string,
    { version = 2, payTo = null as string | null, words = [] as string[] },
  ) => {
    const networks = ['base-sepolia']
    const values = [version, networks, networks, payTo, null, true, new Date(), 20, 0, ...words]
    const { rows } = await facilitator.database.pool.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN ${text}`,
      values,
    )
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }

  test('a word and a recipient are found by an index, and a common word is not ranked without bound', async () => {
    await fill()
    for (const statement of [SEARCHED_ALL, SEARCHED_ANY]) {
      const plan = await planOf(statement, { words: ['rare7'] })
      for (const index of ['resources_words_idx', 'cataloged_resources_words_idx'])
        expect(plan).toContain(index)
    }
    const plan = await planOf(DISCOVERED, { payTo: PAY_TO })
    for (const index of ['resources_accepts_idx', 'cataloged_resources_pay_to_idx'])
      expect(plan).toContain(index)

    const found = await search({ query: 'common', limit: 100, cursor: 900 })
    expect([found.partialResults, found.resources.length, found.pagination.cursor]).toEqual([true, 100, null])
    expect(pathsOf(await search({ query: 'rare7' })).sort()).toEqual(['c7', 'r7'])
  })

  test('a page is read without the rest of the list, and the total is that of the whole', async () => {
    const rowsOf = async (offset: number) => {
      const values = [2, ['base-sepolia'], ['base-sepolia'], null, null, true, new Date(), 20, offset]
      const { rows } = await facilitator.database.pool.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ${DISCOVERED}`,
        values,
      )
      const read = rows.flatMap((row) => /actual rows=([\d.]+)/.exec(row['QUERY PLAN'])?.[1] ?? [])
      return Math.max(...read.map(Number))
    }
    await fill()
    expect(await rowsOf(0)).toBeLessThanOrEqual(2 * MAX_COUNTED)
    const planOfV1 = await planOf(DISCOVERED, { version: 1 })
    for (const index of ['resources_x402_version_id_idx', 'cataloged_resources_x402_version_id_idx'])
      expect(planOfV1).toContain(`using ${index}`)
    const pageAt = async (offset: number) => {
      const list = await api.get(`/api/v2/discovery/resources?limit=2&offset=${offset}`).expect(200)
      const { items, pagination } = list.body as {
        items: { resource: string }[]
        pagination: { total: number }
      }
      return [...items.map(({ resource }) => resource.slice(url('').length)), pagination.total]
    }
    expect(await pageAt(0)).toEqual(['r1', 'r2', 2 * MANY])
    expect(await pageAt(MANY - 1)).toEqual([`r${MANY}`, 'c1', 2 * MANY])
    expect(await pageAt(2 * MANY - 1)).toEqual([`c${MANY}`, 2 * MANY])
    expect(await pageAt(2 * MANY)).toEqual([2 * MANY])
  })
})
