import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Pool, types, type CustomTypesConfig, type PoolClient } from 'pg'
import { replaceReadOnly } from './read-only'
import { connectionConfig, prepareSession } from './session-settings'

export type OpenOptions = {
  url: string
  /** The maximum number of connections, 10 by default. A query waits up to five seconds for one. */
  poolSize?: number | undefined
  /** Lock timeout of a statement, which then fails with 55P03; the statement timeout by default. */
  lockTimeoutMs?: number | undefined
  /** After it Postgres cancels a statement: 15 seconds by default. */
  statementTimeoutMs?: number | undefined
  /** Called for each broken connection. The pool replaces it. */
  onError?: ((error: Error) => void) | undefined
}
export type OpenPool = {
  pool: Pool
  end: () => Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 15_000
/** The query timeout exceeds the statement timeout, so that Postgres cancels the statement first and the connection stays usable. */
const CANCEL_TIMEOUT_MS = 5_000
export const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + CANCEL_TIMEOUT_MS
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000
const CLOSE_TIMEOUT_MS = 2_000

/** A pool that reports a broken connection, idle or in use, to `onError` and removes it. */
export function openPool(
  { url, poolSize = 10, lockTimeoutMs, statementTimeoutMs = STATEMENT_TIMEOUT_MS, onError }: OpenOptions,
  applicationName: string,
): OpenPool {
  const pool = new Pool({
    ...connectionConfig(url, {
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: statementTimeoutMs + CANCEL_TIMEOUT_MS,
      types: parsers,
    }),
    max: poolSize,
    idleTimeoutMillis: 30_000,
    // oxlint-disable-next-line typescript/no-misused-promises -- The pool waits for it, which its types do not say.
    onConnect: (client) =>
      prepareSession(client, {
        statementTimeoutMs,
        lockTimeoutMs,
        idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      }),
  })
  replaceReadOnly(pool)
  const clients = new Set<PoolClient>()
  // The pool handles errors of idle connections only; one in use can break between two statements.
  pool.on('connect', (client) => {
    clients.add(client)
    client.on('error', (error: Error) => onError?.(error))
  })
  pool.on('remove', (client) => clients.delete(client))
  pool.on('error', () => undefined)

  return {
    pool,
    async end() {
      const ended = pool.end().then(() => true)
      const hasEnded = await Promise.race([ended, sleep(CLOSE_TIMEOUT_MS, false, { ref: false })])
      if (!hasEnded) for (const client of clients) if (client instanceof Client) await client.end()
    },
  }
}

const INT8_ARRAY = 1016
const parsersByOid = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, BigInt],
  [INT8_ARRAY, readBigints],
  // The driver reads a timestamp without zone as local time, but Prisma writes UTC.
  [types.builtins.TIMESTAMP, (text) => new Date(`${text.replace(' ', 'T')}Z`)],
])

function readBigints(text: string): (bigint | null)[] {
  const items = text.slice(1, -1)
  return items === '' ? [] : items.split(',').map((item) => (item === 'NULL' ? null : BigInt(item)))
}

/** For queries on the pool. Prisma's queries on the same connections use their own parsers. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format === 'binary' ? undefined : parsersByOid.get(oid)) ??
    (types.getTypeParser(oid, format) as unknown),
}
