import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type EphemeralStore, openEphemeralStore } from './ephemeral'
import { readableLog } from './testing/log'
import { stopRedisServers, hasRedisServer, startRedisServer } from './testing/redis'

const { TEST_REDIS_URL } = process.env

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

  test('returns the last value until it is deleted', async () => {
    await store.set(key, 'a', 60)
    await store.set(key, 'b', 60)
    expect([await store.get(key), await store.getAndDelete(key), await store.get(key)]).toEqual([
      'b',
      'b',
      undefined,
    ])
  })

  test('returns undefined for an unknown key', async () => {
    expect([await store.get(key), await store.getAndDelete(key)]).toEqual([undefined, undefined])
  })

  test('gives the value to one of fifty concurrent getAndDelete calls', async () => {
    await store.set(key, 'nonce', 60)
    const taken = await Promise.all(Array.from({ length: 50 }, () => store.getAndDelete(key)))
    expect(taken.filter((value) => value !== undefined)).toEqual(['nonce'])
  })

  test('accepts one of fifty concurrent setOnce calls and keeps its value', async () => {
    const set = await Promise.all(
      Array.from({ length: 50 }, (_, index) => store.setOnce(key, `${index}`, 60)),
    )
    expect(set.filter(Boolean)).toHaveLength(1)
    expect(await store.get(key)).toBe(`${set.indexOf(true)}`)
  })

  test('accepts setOnce again after getAndDelete', async () => {
    await store.setOnce(key, 'a', 60)
    await store.getAndDelete(key)
    expect(await store.setOnce(key, 'b', 60)).toBe(true)
  })

  test('ping resolves to true', async () => {
    expect(await store.ping()).toBe(true)
  })
}

describe('in this process', () => {
  let time = 0
  const open = (maxEntries = 100) =>
    openEphemeralStore({ logger: readableLog().logger, maxEntries, now: () => new Date(time) })

  contract(() => open())

  test('expires a value by the given clock', async () => {
    const store = await open()
    await store.set('a', '1', 300)
    await store.setOnce('b', '1', 300)
    time += 299_999
    expect([await store.get('a'), await store.get('b')]).toEqual(['1', '1'])
    time += 1
    expect([await store.get('a'), await store.getAndDelete('b'), await store.setOnce('a', '2', 1)]).toEqual([
      undefined,
      undefined,
      true,
    ])
  })

  test('evicts the oldest entry above maxEntries', async () => {
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
    expect(await line('in-memory store opened')).toMatchObject({
      level: 'warn',
      reason: 'REDIS_URL is not set; this process must be the only replica',
    })
  })
})

const withRedis = TEST_REDIS_URL ? describe : describe.skip
withRedis('in Redis (TEST_REDIS_URL)', () => {
  const open = (prefix: string) =>
    openEphemeralStore({ logger: readableLog().logger, redisUrl: TEST_REDIS_URL, prefix })
  const prefix = `${randomUUID()}:`

  contract(() => open(prefix))

  test('sets the expiry of a value', async () => {
    const store = await open(prefix)
    await store.set('a', '1', 300)
    await store.setOnce('b', '1', 300)
    expect(await store.redis?.pttl('a')).toBeGreaterThan(290_000)
    expect(await store.redis?.pttl('b')).toBeGreaterThan(290_000)
    await store.close()
  })

  test('separates services by their prefix', async () => {
    const [one, other] = [await open(prefix), await open(`${randomUUID()}:`)]
    await one.set('shared', 'mine', 60)
    expect(await other.get('shared')).toBeUndefined()
    await Promise.all([one.close(), other.close()])
  })
})

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await stopRedisServers()
})

const withOwnRedis = hasRedisServer ? describe : describe.skip
withOwnRedis('while Redis is unavailable (redis-server on the PATH)', () => {
  const unavailable = { code: 'UNAVAILABLE', retryAfterSeconds: 1 }
  const SOON = { withinSeconds: 5 }

  test.each(['stopped', 'stuck'] as const)(
    'because it is %s, operations reject soon, and succeed after the reconnect',
    async (how) => {
      const redis = await startRedisServer()
      const { logger, line } = readableLog()
      const store = await openEphemeralStore({ logger, redisUrl: redis.url })
      await store.set('a', '1', 60)

      if (how === 'stopped') await redis.stop()
      else redis.freeze()
      const startedAt = performance.now()
      await expect(store.getAndDelete('a')).rejects.toMatchObject(unavailable)
      expect((await line('Redis connection lost')).level).toBe('warn')
      const detectedAt = performance.now()
      for (let call = 0; call < 20; call++)
        await expect(store.setOnce('b', '1', 60)).rejects.toMatchObject(unavailable)
      expect(await store.ping()).toBe(false)
      // Only the first call waits for a stuck server; if each waited, twenty calls would take ten seconds.
      expect(detectedAt - startedAt).toBeLessThan(5_000)
      expect(performance.now() - detectedAt).toBeLessThan(5_000)

      if (how === 'stopped') await redis.start()
      else redis.thaw()
      await line('Redis connection restored')
      expect(await store.setOnce('c', '1', 60)).toBe(true)
      await store.close()
    },
  )

  test('at the start, the service starts, logs it and connects later', async () => {
    const redis = await startRedisServer()
    await redis.stop()
    const { logger, line } = readableLog()
    const store = await openEphemeralStore({ logger, redisUrl: redis.url })
    await line('Redis connection lost')
    await expect(store.get('a')).rejects.toMatchObject(unavailable)
    await redis.start()
    await line('Redis connection restored')
    expect(await store.get('a')).toBeUndefined()
    await store.close()
  })

  test.each<[string, string]>([
    ['a replica', "READONLY You can't write against a read only replica."],
    ['a replica, in a script', 'ERR Error running script (call to f_1): @user_script:1: -READONLY no writes'],
    [
      'a replica without its primary',
      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is 'no'.",
    ],
    ['a primary that lost its replicas', 'NOREPLICAS Not enough good replicas to write.'],
    ['a server that loads its data', 'LOADING Redis is loading the dataset in memory'],
    ['a node of a cluster that is down', 'CLUSTERDOWN The cluster is down'],
    ['a node of a cluster that was demoted', 'MOVED 3999 127.0.0.1:6381'],
  ])('a connection to %s is replaced', async (_, error) => {
    const server = await startAnsweringServer(error)
    const { logger, line } = readableLog()
    const store = await openEphemeralStore({ logger, redisUrl: server.url })
    closing.push(() => store.close())
    await expect(store.setOnce('a', '1', 60)).rejects.toMatchObject(unavailable)
    expect((await line('Redis connection lost', SOON)).level).toBe('warn')
    await line('Redis connection restored', SOON)
    expect(server.connections()).toBe(2)
  })

  test('a failover that leaves the connection open is followed within five seconds', async () => {
    const [old, promoted] = [await startRedisServer(), await startRedisServer()]
    let leader = old
    const proxy = createServer((socket) => {
      const inner = connect(Number(new URL(leader.url).port), '127.0.0.1')
      for (const [from, to] of [
        [socket, inner],
        [inner, socket],
      ] as const) {
        from.pipe(to)
        from.on('error', () => to.destroy())
      }
    }).listen(0, '127.0.0.1')
    closing.push(() => proxy.close())
    await once(proxy, 'listening')
    const redisUrl = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const store = await openEphemeralStore({ logger: readableLog().logger, redisUrl })
    closing.push(() => store.close())
    await store.set('a', '1', 60)

    const admin = await openEphemeralStore({ logger: readableLog().logger, redisUrl: old.url })
    closing.push(() => admin.close())
    await admin.redis?.replicaof('127.0.0.1', Number(new URL(promoted.url).port))
    leader = promoted
    const promotedAt = performance.now()
    let isBack = false
    while (!isBack && performance.now() - promotedAt < 20_000) {
      isBack = await store.setOnce(randomUUID(), '1', 60).catch((error: unknown) => {
        expect(error).toMatchObject(unavailable)
        return false
      })
      await nextTurn()
    }
    expect(performance.now() - promotedAt).toBeLessThan(5_000)
  })

  test('close does not wait for it', async () => {
    const redis = await startRedisServer()
    const store = await openEphemeralStore({ logger: readableLog().logger, redisUrl: redis.url })
    redis.freeze()
    const startedAt = performance.now()
    await store.close()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})

/** A server of the protocol that is ready, and answers each write with this error. */
async function startAnsweringServer(error: string) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      const isInfo = /info/i.test(data.toString())
      socket.write(isInfo ? '$11\r\nloading:0\r\n\r\n' : `-${error}\r\n`)
    })
  }).listen(0, '127.0.0.1')
  closing.push(() => server.close())
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
  }
}
