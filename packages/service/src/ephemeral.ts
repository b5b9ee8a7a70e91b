import Redis from 'ioredis'
import { ApiError } from './errors'
import { type Logger } from './logger'

/**
 * A store for what may be lost: nonces, marks, answers kept for seconds. Its verbs are atomic. With Redis all replicas
 * share it; while Redis is away every verb rejects with ApiError UNAVAILABLE, soon, and works again once it is back.
 */
export type EphemeralStore = {
  readonly kind: 'redis' | 'memory'
  /** For those who need more of Redis than these verbs. */
  readonly redis?: Redis
  /** Sets the key unless it is set; resolves to whether it did. */
  setOnce: (key: string, value: string, ttlSeconds: number) => Promise<boolean>
  /** Gets and removes: of any number of callers at once, one gets the value. */
  take: (key: string) => Promise<string | undefined>
  get: (key: string) => Promise<string | undefined>
  set: (key: string, value: string, ttlSeconds: number) => Promise<void>
  /** Never rejects. */
  ping: () => Promise<boolean>
  close: () => Promise<void>
}

export type EphemeralStoreOptions = {
  logger: Logger
  /** Without it the store is in this process, which then must be the only replica. */
  redisUrl?: string | undefined
  /** Before every key, so that services may share one Redis. */
  prefix?: string
  /** In process only: beyond it the oldest entry is dropped. */
  maxEntries?: number
  /** In process only: the clock that entries expire by. */
  now?: () => Date
}

const COMMAND_TIMEOUT_MS = 500
const CONNECT_TIMEOUT_MS = 2_000
const MAX_RECONNECT_DELAY_MS = 2_000

/** Opens the store. A Redis that does not answer is told in the log and tried again; the service starts without it. */
export async function openEphemeralStore(options: EphemeralStoreOptions): Promise<EphemeralStore> {
  const { logger, redisUrl, prefix = '', maxEntries = 100_000, now = () => new Date() } = options
  if (redisUrl !== undefined) return openRedis(redisUrl, prefix, logger)
  logger.warn('no REDIS_URL: nonces and rate limits are kept in this process, which must be the only replica')
  return createMemoryStore(maxEntries, now)
}

async function openRedis(url: string, keyPrefix: string, logger: Logger): Promise<EphemeralStore> {
  const redis = new Redis(url, {
    keyPrefix,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    // A server that hangs is left, so that the next caller is told at once rather than after a timeout of its own.
    socketTimeout: COMMAND_TIMEOUT_MS,
    // A command that cannot be sent now is refused now.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
    retryStrategy: (times) =>
      Math.min(50 * 2 ** Math.min(times, 10), MAX_RECONNECT_DELAY_MS) * (0.5 + Math.random() / 2),
  })
  let isAway = false
  redis.on('error', (error: unknown) => {
    if (!isAway) logger.warn('Redis is away', { error })
    isAway = true
  })
  redis.on('close', () => {
    if (!isAway && redis.status !== 'end') logger.warn('Redis is away')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) logger.info('Redis is back')
    isAway = false
  })
  // What went wrong was told by the handlers above, and the client goes on trying by itself.
  await redis.connect().catch(() => undefined)

  return {
    kind: 'redis',
    redis,
    setOnce: (key, value, ttlSeconds) =>
      told(redis.set(key, value, 'EX', ttlSeconds, 'NX').then((answer) => answer === 'OK')),
    take: (key) => told(redis.getdel(key).then((value) => value ?? undefined)),
    get: (key) => told(redis.get(key).then((value) => value ?? undefined)),
    set: (key, value, ttlSeconds) => told(redis.set(key, value, 'EX', ttlSeconds).then(() => undefined)),
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

async function told<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    throw new ApiError('UNAVAILABLE', 'This cannot be done right now; try again in a second', {
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
    take(key) {
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
