import Redis from 'ioredis'
import { ApiError } from './errors'
import { type Logger } from './logger'
import { type Metrics } from './metrics/metrics'
import { exportRedis } from './metrics/redis-commands'

/**
 * A store for data that may be lost: nonces, marks, cached results. Its operations are atomic. With Redis all replicas share
 * it; while Redis is unavailable every operation rejects with ApiError UNAVAILABLE.
 */
export type EphemeralStore = {
  readonly kind: 'redis' | 'memory'
  readonly redis?: Redis
  /** Returns false if the key is already set. */
  setOnce: (key: string, value: string, ttlSeconds: number) => Promise<boolean>
  /** Of any number of concurrent callers, one gets the value. */
  getAndDelete: (key: string) => Promise<string | undefined>
  get: (key: string) => Promise<string | undefined>
  set: (key: string, value: string, ttlSeconds: number) => Promise<void>
  /** Never rejects. */
  ping: () => Promise<boolean>
  close: () => Promise<void>
}

export type EphemeralStoreOptions = {
  logger: Logger
  /** Without it the store is in this process, which must then be the only replica. */
  redisUrl?: string | undefined
  prefix?: string
  /** Gets the metrics of Redis, if it is used. */
  metrics?: Metrics
  /** In process only: above it the oldest entry is evicted. */
  maxEntries?: number
  /** In process only. */
  now?: () => Date
}

const COMMAND_TIMEOUT_MS = 500
const CONNECT_TIMEOUT_MS = 2_000
const MAX_RECONNECT_DELAY_MS = 2_000
/** The longest pause between two looks at a server that loads its data. */
const MAX_LOADING_DELAY_MS = 1_000
/** A server that is no primary closes the connection at most so often. */
const RECONNECT_INTERVAL_MS = 1_000

/** Errors of a server that is no primary, or not yet: a new connection may lead to one. Old versions wrap those of scripts. */
const NO_PRIMARY = /(?:^|[ -])(?:READONLY|MASTERDOWN|NOREPLICAS|LOADING|CLUSTERDOWN|MOVED) /

/** Opens the store. If Redis is unavailable, the service starts without it and the store keeps reconnecting. */
export async function openEphemeralStore(options: EphemeralStoreOptions): Promise<EphemeralStore> {
  const { logger, redisUrl, prefix = '', metrics, maxEntries = 100_000, now = () => new Date() } = options
  if (redisUrl !== undefined) return openRedis(redisUrl, { keyPrefix: prefix, logger, metrics })
  logger.warn('in-memory store opened', {
    reason: 'REDIS_URL is not set; this process must be the only replica',
  })
  return createMemoryStore(maxEntries, now)
}

async function openRedis(
  url: string,
  { keyPrefix, logger, metrics }: { keyPrefix: string; logger: Logger; metrics: Metrics | undefined },
): Promise<EphemeralStore> {
  let isDisconnected = false
  let nextReconnectAt = 0
  const redis = new Redis(url, {
    keyPrefix,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    // Disconnects from a server that hangs, so that later commands fail at once instead of each timing out.
    socketTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
    maxLoadingRetryTime: MAX_LOADING_DELAY_MS,
    retryStrategy: (times) =>
      Math.min(50 * 2 ** Math.min(times, 10), MAX_RECONNECT_DELAY_MS) * (0.5 + Math.random() / 2),
    reconnectOnError(error) {
      const isDue = NO_PRIMARY.test(error.message) && performance.now() >= nextReconnectAt
      if (!isDue) return false
      nextReconnectAt = performance.now() + RECONNECT_INTERVAL_MS
      logger.warn('Redis connection lost', { error })
      isDisconnected = true
      return true
    },
  })
  if (metrics) exportRedis(metrics, redis)
  redis.on('error', (error: unknown) => {
    if (!isDisconnected) logger.warn('Redis connection lost', { error })
    isDisconnected = true
  })
  redis.on('close', () => {
    if (!isDisconnected && redis.status !== 'end') logger.warn('Redis connection lost')
    isDisconnected = true
  })
  redis.on('ready', () => {
    if (isDisconnected) logger.info('Redis connection restored')
    isDisconnected = false
  })
  // The handlers above log the error, and the client reconnects by itself.
  await redis.connect().catch(() => undefined)

  return {
    kind: 'redis',
    redis,
    setOnce: (key, value, ttlSeconds) =>
      asUnavailable(redis.set(key, value, 'EX', ttlSeconds, 'NX').then((reply) => reply === 'OK')),
    getAndDelete: (key) => asUnavailable(redis.getdel(key).then((value) => value ?? undefined)),
    get: (key) => asUnavailable(redis.get(key).then((value) => value ?? undefined)),
    set: (key, value, ttlSeconds) =>
      asUnavailable(redis.set(key, value, 'EX', ttlSeconds).then(() => undefined)),
    ping: () =>
      redis.ping().then(
        () => true,
        () => false,
      ),
    async close() {
      redis.removeAllListeners('close')
      if (redis.status === 'ready') await redis.quit().catch(() => undefined)
      redis.disconnect()
    },
  }
}

async function asUnavailable<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply
  } catch (cause) {
    throw new ApiError('UNAVAILABLE', 'A dependency of this service is unavailable; try again in a second', {
      retryAfterSeconds: 1,
      cause,
    })
  }
}

function createMemoryStore(maxEntries: number, now: () => Date): EphemeralStore {
  const entries = new Map<string, { value: string; expiresAt: number }>()

  function read(key: string) {
    const entry = entries.get(key)
    if (entry === undefined || entry.expiresAt > now().getTime()) return entry?.value
    entries.delete(key)
    return undefined
  }
  function write(key: string, value: string, ttlSeconds: number) {
    entries.delete(key)
    for (const oldest of entries.keys()) {
      if (entries.size < maxEntries) break
      entries.delete(oldest)
    }
    entries.set(key, { value, expiresAt: now().getTime() + ttlSeconds * 1000 })
  }
  return {
    kind: 'memory',
    setOnce(key, value, ttlSeconds) {
      const isNew = read(key) === undefined
      if (isNew) write(key, value, ttlSeconds)
      return Promise.resolve(isNew)
    },
    getAndDelete(key) {
      const value = read(key)
      entries.delete(key)
      return Promise.resolve(value)
    },
    get: (key) => Promise.resolve(read(key)),
    set(key, value, ttlSeconds) {
      write(key, value, ttlSeconds)
      return Promise.resolve()
    },
    ping: () => Promise.resolve(true),
    close() {
      entries.clear()
      return Promise.resolve()
    },
  }
}
