import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type EphemeralStore, openEphemeralStore } from './ephemeral'
import { addressKey, createBudget, createLimiter, createRateLimit } from './rate-limit'
import { readableLog } from './testing/log'
import { endRedis, hasRedisServer, ownRedis } from './testing/redis'
import { serve, stopServing } from './testing/serve'

const { TEST_REDIS_URL } = process.env

afterEach(stopServing)

const open = (redisUrl?: string) =>
  openEphemeralStore({ logger: readableLog().logger, redisUrl, prefix: `${randomUUID()}:` })

/** A server that counts by the header `who`, and how to call it. */
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

  test('serves a key as often as its window allows, then says when to come back', async () => {
    const call = await limited(store, 3)
    const answers = [await call('a'), await call('a'), await call('a'), await call('a'), await call('a')]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])

    const [first, , , refused] = answers
    expect(first?.headers.get('ratelimit-policy')).toBe('"auth";q=3;w=60')
    expect(first?.headers.get('ratelimit')).toBe('"auth";r=2;t=60')
    expect(refused?.headers.get('ratelimit')).toMatch(/^"auth";r=0;t=(59|60)$/)
    expect(refused?.headers.get('retry-after')).toMatch(/^(59|60)$/)
    expect(await refused?.json()).toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('as a budget says whether a key has something left, and refuses nothing', async () => {
    const { logger } = readableLog()
    const budget = createBudget({ store, name: 'timeouts', points: 2, durationSeconds: 60, logger })
    const taken: boolean[] = []
    for (const key of ['a', 'a', 'b', 'a', 'a', 'b', 'b']) taken.push(await budget(key))
    expect(taken).toEqual([true, true, true, false, false, true, false])
  })

  test('takes as many points as it is told, and states each policy once', async () => {
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
    const answers = [await fetch(url), await fetch(url), await fetch(url)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers[0]!.headers.get('ratelimit')).toBe('"other";r=1;t=1, "weighted";r=5;t=60')
    expect(answers[0]!.headers.get('ratelimit-policy')).toBe('"weighted";q=10;w=60')
  })

  test('counts each key by itself, however long it is', async () => {
    const call = await limited(store, 1)
    const long = 'x'.repeat(5_000)
    expect((await call(`${long}1`)).status).toBe(200)
    expect((await call(`${long}2`)).status).toBe(200)
    expect((await call(`${long}1`)).status).toBe(429)
  })

  test('lets exactly as many of fifty at once through as are allowed', async () => {
    const call = await limited(store, 7)
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await call('burst')).status))
    expect(statuses.filter((status) => status === 200)).toHaveLength(7)
  })
}

describe('counted in this process', () => contract())

const withRedis = TEST_REDIS_URL ? describe : describe.skip
withRedis('counted in Redis (TEST_REDIS_URL)', () => {
  contract(TEST_REDIS_URL)

  test('counts the replicas together', async () => {
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

afterEach(endRedis)

const withOwnRedis = hasRedisServer ? describe : describe.skip
withOwnRedis('when Redis goes away (redis-server on the PATH)', () => {
  test('each replica goes on counting by itself, and says so once', async () => {
    const redis = await ownRedis()
    const store = await open(redis.url)
    const log = readableLog()
    const call = await limited(store, 2, log)
    expect((await call('a')).status).toBe(200)
    await redis.stop()
    const statuses = [(await call('a')).status, (await call('a')).status, (await call('a')).status]
    expect(statuses).toEqual([200, 200, 429])
    const warned = 'rate limits are counted by each replica while Redis is away'
    await log.line(warned)
    expect(log.lines().filter(({ message }) => message === warned)).toHaveLength(1)
    await store.close()
  })
})

/**
 * What is still referred to, in bytes: garbage that waits for its collector does not count. What is allocated while the
 * collector is already marking outlives that round, so one round alone may find tens of megabytes that nobody holds.
 */
function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round++) collect()
  return process.memoryUsage().heapUsed
}

test('a flood of keys does not grow the process without end', async () => {
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
  // A counter for each of them would hold over 300 bytes; the slots were all but filled by the first flood.
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
  ])('takes the caller %s for %s', async (address, key) => {
    const { url } = await serve({
      trustProxy: true,
      routes(app) {
        app.get('/', (req, res) => void res.json(addressKey(req)))
      },
    })
    const answer = await fetch(url, { headers: { 'x-forwarded-for': address } })
    expect(await answer.json()).toBe(key)
  })

  test('believes no caller about its own address where no proxy is trusted', async () => {
    const { url } = await serve({
      routes(app) {
        app.get('/', (req, res) => void res.json(addressKey(req)))
      },
    })
    const answer = await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.7' } })
    expect(await answer.json()).toBe('127.0.0.1')
  })
})
