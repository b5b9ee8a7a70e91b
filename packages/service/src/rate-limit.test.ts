import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type EphemeralStore, openEphemeralStore } from './ephemeral'
import { addressKey, createBudget, createLimiter, createRateLimit } from './rate-limit'
import { readableLog } from './testing/log'
import { stopRedisServers, hasRedisServer, startRedisServer } from './testing/redis'
import { serve, stopServing } from './testing/serve'

const { TEST_REDIS_URL } = process.env

afterEach(stopServing)

const open = (redisUrl?: string) =>
  openEphemeralStore({ logger: readableLog().logger, redisUrl, prefix: `${randomUUID()}:` })

async function limited(store: EphemeralStore, points: number, log = readableLog()) {
  const limit = createRateLimit({
    store,
    name: 'auth',
    points,
    durationSeconds: 60,
    key: (req) => req.get('who') ?? '',
    logger: log.logger,
  })
  const { url } = await serve({
    routes(app) {
      app.get('/', limit, (_req, res) => void res.json('served'))
    },
  })
  return (who: string) => fetch(url, { headers: { who } })
}

function contract(redisUrl?: string) {
  let store: EphemeralStore
  beforeAll(async () => {
    store = await open(redisUrl)
  })
  afterAll(() => store.close())

  test('serves a key up to its limit, then responds with the time to retry', async () => {
    const call = await limited(store, 3)
    const responses = [await call('a'), await call('a'), await call('a'), await call('a'), await call('a')]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])

    const [first, , , refused] = responses
    expect(first?.headers.get('ratelimit-policy')).toBe('"auth";q=3;w=60')
    expect(first?.headers.get('ratelimit')).toBe('"auth";r=2;t=60')
    expect(refused?.headers.get('ratelimit')).toMatch(/^"auth";r=0;t=(59|60)$/)
    expect(refused?.headers.get('retry-after')).toMatch(/^(59|60)$/)
    expect(await refused?.json()).toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('reports an exceeded budget and refuses no request', async () => {
    const { logger } = readableLog()
    const budget = createBudget({ store, name: 'timeouts', points: 2, durationSeconds: 60, logger })
    const isWithin: boolean[] = []
    for (const key of ['a', 'a', 'b', 'a', 'a', 'b', 'b']) isWithin.push(await budget(key))
    expect(isWithin).toEqual([true, true, true, false, false, true, false])
  })

  test('consumes the given number of points, and sends each policy once', async () => {
    const limit = createLimiter({
      store,
      name: 'weighted',
      points: 10,
      durationSeconds: 60,
      logger: readableLog().logger,
    })
    const { url } = await serve({
      routes(app) {
        app.get('/', async (_req, res) => {
          res.append('RateLimit', '"other";r=1;t=1')
          await limit('a', res, 2)
          await limit('a', res, 3)
          res.json('served')
        })
      },
    })
    const responses = [await fetch(url), await fetch(url), await fetch(url)]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(responses[0]!.headers.get('ratelimit')).toBe('"other";r=1;t=1, "weighted";r=5;t=60')
    expect(responses[0]!.headers.get('ratelimit-policy')).toBe('"weighted";q=10;w=60')
  })

  test('counts long keys separately', async () => {
    const call = await limited(store, 1)
    const long = 'x'.repeat(5_000)
    expect((await call(`${long}1`)).status).toBe(200)
    expect((await call(`${long}2`)).status).toBe(200)
    expect((await call(`${long}1`)).status).toBe(429)
  })

  test('serves exactly the limit out of fifty concurrent requests', async () => {
    const call = await limited(store, 7)
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await call('burst')).status))
    expect(statuses.filter((status) => status === 200)).toHaveLength(7)
  })
}

describe('counted in this process', () => contract())

const withRedis = TEST_REDIS_URL ? describe : describe.skip
withRedis('counted in Redis (TEST_REDIS_URL)', () => {
  contract(TEST_REDIS_URL)

  test('shares the count between replicas', async () => {
    const prefix = `${randomUUID()}:`
    const replicas = await Promise.all(
      [1, 2].map(() =>
        openEphemeralStore({ logger: readableLog().logger, redisUrl: TEST_REDIS_URL, prefix }),
      ),
    )
    const [one, other] = await Promise.all(replicas.map((store) => limited(store, 2)))
    const statuses = [(await one!('a')).status, (await other!('a')).status, (await one!('a')).status]
    expect(statuses).toEqual([200, 200, 429])
    await Promise.all(replicas.map((store) => store.close()))
  })
})

afterEach(stopRedisServers)

const withOwnRedis = hasRedisServer ? describe : describe.skip
withOwnRedis('while Redis is unavailable (redis-server on the PATH)', () => {
  test('each replica counts by itself, and logs it once', async () => {
    const redis = await startRedisServer()
    const store = await open(redis.url)
    const log = readableLog()
    const call = await limited(store, 2, log)
    expect((await call('a')).status).toBe(200)
    await redis.stop()
    const statuses = [(await call('a')).status, (await call('a')).status, (await call('a')).status]
    expect(statuses).toEqual([200, 200, 429])
    const warning = 'rate limits counted per replica'
    await log.line(warning)
    expect(log.lines().filter(({ message }) => message === warning)).toHaveLength(1)
    await store.close()
  })
})

/** Bytes that are reachable. Objects allocated during marking survive that collection, so one collection is not enough. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round++) collect()
  return process.memoryUsage().heapUsed
}

test('bounds the memory for a flood of keys', async () => {
  const store = await open()
  const limit = createLimiter({
    store,
    name: 'flood',
    points: 1_000,
    durationSeconds: 60,
    logger: readableLog().logger,
  })
  const headers = { getHeader: () => undefined, setHeader: () => headers } as never
  for (let key = 0; key < 200_000; key++) await limit(`first${key}`, headers)
  const before = heapInUse()
  for (let key = 0; key < 200_000; key++) await limit(`second${key}`, headers)
  // A counter per key would take over 300 bytes each; the first flood filled almost all slots.
  expect(heapInUse() - before).toBeLessThan(40e6)
})

describe('addressKey', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['203.0.113.7:4001', '203.0.113.7'],
    ['::ffff:203.0.113.7:4001', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:4001', '203.0.113.7'],
    ['[2001:db8:1:2::9]:4001', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['[fe80::1%eth0]:4001', 'fe80:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:4001', '2001:db8:1:2::/64'],
  ])('maps the client %s to %s', async (address, key) => {
    const { url } = await serve({
      trustProxy: true,
      routes(app) {
        app.get('/', (req, res) => void res.json(addressKey(req)))
      },
    })
    const response = await fetch(url, { headers: { 'x-forwarded-for': address } })
    expect(await response.json()).toBe(key)
  })

  test('ignores X-Forwarded-For if no proxy is trusted', async () => {
    const { url } = await serve({
      routes(app) {
        app.get('/', (req, res) => void res.json(addressKey(req)))
      },
    })
    const response = await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.7' } })
    expect(await response.json()).toBe('127.0.0.1')
  })
})
