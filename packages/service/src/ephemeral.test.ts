import { randomUUID } from 'node:crypto'
import { type EphemeralStore, openEphemeralStore } from './ephemeral'
import { readableLog } from './testing/log'
import { endRedis, hasRedisServer, ownRedis } from './testing/redis'

const { TEST_REDIS_URL } = process.env

/** What every store guarantees, whatever it is made of. */
function contract(open: () => Promise<EphemeralStore>) {
  let store: EphemeralStore
  let key: string
  beforeAll(async () => {
    store = await open()
  })
  beforeEach(() => {
    key = randomUUID()
  })
  afterAll(() => store.close())

  test('gives back what was set, until it is taken', async () => {
    await store.set(key, 'a', 60)
    await store.set(key, 'b', 60)
    expect([await store.get(key), await store.take(key), await store.get(key)]).toEqual(['b', 'b', undefined])
  })

  test('knows nothing of a key that was never set', async () => {
    expect([await store.get(key), await store.take(key)]).toEqual([undefined, undefined])
  })

  test('lets one of fifty takers at once have the value', async () => {
    await store.set(key, 'nonce', 60)
    const taken = await Promise.all(Array.from({ length: 50 }, () => store.take(key)))
    expect(taken.filter((value) => value !== undefined)).toEqual(['nonce'])
  })

  test('lets one of fifty setters at once be the first, and keeps its value', async () => {
    const set = await Promise.all(
      Array.from({ length: 50 }, (_, index) => store.setOnce(key, `${index}`, 60)),
    )
    expect(set.filter(Boolean)).toHaveLength(1)
    expect(await store.get(key)).toBe(`${set.indexOf(true)}`)
  })

  test('can be set once again after it was taken', async () => {
    await store.setOnce(key, 'a', 60)
    await store.take(key)
    expect(await store.setOnce(key, 'b', 60)).toBe(true)
  })

  test('answers a ping', async () => {
    expect(await store.ping()).toBe(true)
  })
}

describe('in this process', () => {
  let time = 0
  const open = (maxEntries = 100) =>
    openEphemeralStore({ logger: readableLog().logger, maxEntries, now: () => new Date(time) })

  contract(() => open())

  test('forgets a value when its time is over, by the clock it was given', async () => {
    const store = await open()
    await store.set('a', '1', 300)
    await store.setOnce('b', '1', 300)
    time += 299_999
    expect([await store.get('a'), await store.get('b')]).toEqual(['1', '1'])
    time += 1
    expect([await store.get('a'), await store.take('b'), await store.setOnce('a', '2', 1)]).toEqual([
      undefined,
      undefined,
      true,
    ])
  })

  test('holds a flood within its bound, dropping the oldest', async () => {
    const store = await open(3)
    for (const key of ['a', 'b', 'c']) await store.set(key, key, 60)
    await store.set('c', 'again', 60)
    expect(await store.get('a')).toBe('a')
    await store.set('a', 'again', 60)
    await store.set('d', 'd', 60)
    const kept = await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.get(key)))
    expect(kept).toEqual(['again', undefined, 'again', 'd'])
  })

  test('warns that it must be the only replica', async () => {
    const { logger, line } = readableLog()
    expect((await openEphemeralStore({ logger })).kind).toBe('memory')
    expect(
      (
        await line(
          'no REDIS_URL: nonces and rate limits are kept in this process, which must be the only replica',
        )
      ).level,
    ).toBe('warn')
  })
})

const withRedis = TEST_REDIS_URL ? describe : describe.skip
withRedis('in Redis (TEST_REDIS_URL)', () => {
  const open = (prefix: string) =>
    openEphemeralStore({ logger: readableLog().logger, redisUrl: TEST_REDIS_URL, prefix })
  const prefix = `${randomUUID()}:`

  contract(() => open(prefix))

  test('forgets a value when its time is over', async () => {
    const store = await open(prefix)
    await store.set('a', '1', 300)
    await store.setOnce('b', '1', 300)
    expect(await store.redis?.pttl('a')).toBeGreaterThan(290_000)
    expect(await store.redis?.pttl('b')).toBeGreaterThan(290_000)
    await store.close()
  })

  test('keeps services apart by their prefix', async () => {
    const [one, other] = [await open(prefix), await open(`${randomUUID()}:`)]
    await one.set('shared', 'mine', 60)
    expect(await other.get('shared')).toBeUndefined()
    await Promise.all([one.close(), other.close()])
  })
})

afterEach(endRedis)

const withOwnRedis = hasRedisServer ? describe : describe.skip
withOwnRedis('a Redis that goes away (redis-server on the PATH)', () => {
  const unavailable = { code: 'UNAVAILABLE', retryAfterSeconds: 1 }

  test.each(['stopped', 'stuck'] as const)(
    'because it was %s: verbs reject soon, and work once it is back',
    async (how) => {
      const redis = await ownRedis()
      const { logger, line } = readableLog()
      const store = await openEphemeralStore({ logger, redisUrl: redis.url })
      await store.set('a', '1', 60)

      if (how === 'stopped') await redis.stop()
      else redis.freeze()
      const startedAt = performance.now()
      await expect(store.take('a')).rejects.toMatchObject(unavailable)
      expect((await line('Redis is away')).level).toBe('warn')
      const toldAt = performance.now()
      for (let call = 0; call < 20; call++)
        await expect(store.setOnce('b', '1', 60)).rejects.toMatchObject(unavailable)
      expect(await store.ping()).toBe(false)
      // Slow once, for a server that is stuck; from then on nobody waits, or twenty calls took ten seconds.
      expect(toldAt - startedAt).toBeLessThan(5_000)
      expect(performance.now() - toldAt).toBeLessThan(5_000)

      if (how === 'stopped') await redis.start()
      else redis.thaw()
      await line('Redis is back')
      expect(await store.setOnce('c', '1', 60)).toBe(true)
      await store.close()
    },
  )

  test('before the start: the service starts, says so, and finds it later', async () => {
    const redis = await ownRedis()
    await redis.stop()
    const { logger, line } = readableLog()
    const store = await openEphemeralStore({ logger, redisUrl: redis.url })
    await line('Redis is away')
    await expect(store.get('a')).rejects.toMatchObject(unavailable)
    await redis.start()
    await line('Redis is back')
    expect(await store.get('a')).toBeUndefined()
    await store.close()
  })

  test('for good: closing does not wait for it', async () => {
    const redis = await ownRedis()
    const store = await openEphemeralStore({ logger: readableLog().logger, redisUrl: redis.url })
    redis.freeze()
    const startedAt = performance.now()
    await store.close()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})
