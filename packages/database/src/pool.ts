import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Pool, types, type CustomTypesConfig, type PoolClient } from 'pg'
import { sessionSettings } from './address'

export interface OpenOptions {
  url: string
  /** Connections at most; 10 unless told. What asks for one more waits up to five seconds. */
  poolSize?: number | undefined
  /** How long a statement waits for what another one holds, before it fails with 55P03; as long as it may run, unless told. */
  lockTimeoutMs?: number | undefined
  /** Told of a connection that broke; it is replaced, and nothing needs to be done. */
  onError?: ((error: Error) => void) | undefined
}
export interface OpenPool {
  pool: Pool
  end: () => Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 15_000
/**
 * The longest that an answer is waited for. Later than Postgres's own limit, so that it speaks first and the connection can
 * be kept.
 */
export const QUERY_TIMEOUT_MS = 20_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000
const CLOSE_GRACE_MS = 2_000

/** A pool that never ends the process: a broken connection, idle or taken, is told to `onError` and forgotten. */
export function openPool(
  { url, poolSize = 10, lockTimeoutMs, onError }: OpenOptions,
  applicationName: string,
): OpenPool {
  const pool = new Pool({
    ...sessionSettings(url, {
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      types: parsers,
    }),
    max: poolSize,
    idleTimeoutMillis: 30_000,
  })
  const clients = new Set<PoolClient>()
  // The pool listens to idle connections only; a taken one that breaks between two statements has no other listener.
  pool.on('connect', (client) => {
    clients.add(client)
    client.on('error', (error: Error) => onError?.(error))
  })
  pool.on('remove', (client) => clients.delete(client))
  pool.on('error', () => undefined)

  return {
    pool,
    async end() {
      const patience = new AbortController()
      const late = sleep(CLOSE_GRACE_MS, true, { signal: patience.signal }).catch(() => false)
      const ended = pool.end().then(() => false)
      const isLate = await Promise.race([ended, late])
      patience.abort()
      if (isLate) for (const client of clients) if (client instanceof Client) await client.end()
    },
  }
}

const INT8_ARRAY = 1016
const own = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, BigInt],
  [INT8_ARRAY, readBigints],
  // The driver would read a timestamp without zone in this machine's zone; Prisma writes them in UTC.
  [types.builtins.TIMESTAMP, (text) => new Date(`${text.replace(' ', 'T')}Z`)],
])

/** An array of one dimension: `{1,2,NULL}`. */
function readBigints(text: string): (bigint | null)[] {
  const items = text.slice(1, -1)
  return items === '' ? [] : items.split(',').map((item) => (item === 'NULL' ? null : BigInt(item)))
}

/** How the pool's own queries read a column. Prisma's, over the same connections, bring parsers of their own. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format === 'binary' ? undefined : own.get(oid)) ?? (types.getTypeParser(oid, format) as unknown),
}
