import { randomUUID } from 'node:crypto'
import { type EphemeralStore, openEphemeralStore } from './ephemeral'
import { createKeyLimiter } from './key-limit'
import { readableLog } from './testing/log'
import { hasRedisServer, startRedisServer, stopRedisServers } from './testing/redis'

const { TEST_REDIS_URL } = process.env

afterEach(stopRedisServers)

const limiterOf = (store: EphemeralStore, log = readableLog()) =>
  createKeyLimiter({ store, name: 'payments', durationSeconds: 60, logger: log.logger })

type KeyLimiter = ReturnType<typeof limiterOf>

/** How many of twenty concurrent calls are within the limit. */
async function served(limiters: readonly KeyLimiter[], key: string, points: number) {
  const calls = Array.from({ length: 20 }, (_, n) => limiters[n % limiters.length]!(key, points))
  return (await Promise.allSettled(calls)).filter(({ status }) => status === 'fulfilled').length
}

const open = (redisUrl?: string, prefix = `${randomUUID()}:`) =>
  openEphemeralStore({ logger: readableLog().logger, redisUrl, prefix })

test('counts each key in this process against its own limit', async () => {
  const store = await open()
  const limit = limiterOf(store)
  expect(await served([limit], 'a', 3)).toBe(3)
  expect(await served([limit], 'b', 19)).toBe(19)
  await expect(limit('a', 3)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  await store.close()
})

const withRedis = TEST_REDIS_URL ? test : test.skip
withRedis('counts a key on all replicas together in Redis (TEST_REDIS_URL)', async () => {
  const prefix = `${randomUUID()}:`
  const stores = await Promise.all([open(TEST_REDIS_URL, prefix), open(TEST_REDIS_URL, prefix)])
  const limits = stores.map((store) => limiterOf(store))
  expect(await served(limits, 'a', 7)).toBe(7)
  expect(await served(limits, 'b', 12)).toBe(12)
  await Promise.all(stores.map((store) => store.close()))
})

const withOwnRedis = hasRedisServer ? test : test.skip
withOwnRedis('while Redis is unavailable, each replica counts by itself, and logs it once', async () => {
  const redis = await startRedisServer()
  const store = await open(redis.url)
  const log = readableLog()
  const limit = limiterOf(store, log)
  await limit('a', 2)
  await redis.stop()
  expect(await served([limit], 'a', 2)).toBe(2)
  const warning = 'rate limits counted per replica'
  await log.line(warning)
  expect(log.lines().filter(({ message }) => message === warning)).toHaveLength(1)
  await store.close()
})
