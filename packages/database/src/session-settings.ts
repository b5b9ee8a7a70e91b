import { DatabaseError, type ClientBase, type ClientConfig } from 'pg'
import { type QueryConfig } from './pool-mode'
import { connectionOf } from './tls'

export type SessionSettings = {
  statementTimeoutMs?: number | undefined
  lockTimeoutMs?: number | undefined
  idleInTransactionTimeoutMs?: number | undefined
}

/** SQLSTATE read_only_sql_transaction. */
export const READ_ONLY = '25006'
/** SQLSTATE connection_failure. */
const CONNECTION_FAILURE = '08006'
const SETUP_TIMEOUT_MS = 5_000

/**
 * The time zone is UTC because Prisma's adapter writes and reads a timestamptz as UTC, and the driver parses dates in ISO style
 * only. Postgres keeps the plan of a prepared statement until the next ANALYZE, in which time a small table can grow by a million
 * rows: a plan must not scan it. `jit` would compile for 0.1 s each statement that still must.
 */
const SETTINGS = {
  timezone: 'UTC',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  enable_seqscan: 'off',
  jit: 'off',
}

const SESSION = `pg_backend_pid() AS pid, current_setting('transaction_read_only') = 'on' AS "isReadOnly"`
type Session = { pid: number; isReadOnly: boolean }

/** The server process of each session, as long as the pooler before it keeps its promise. */
const processes = new WeakMap<ClientBase, number>()

/**
 * Configures a new connection: by a statement, which overrides the settings of server, database and role, since PgBouncer refuses
 * most startup parameters.
 * @throws DatabaseError 25006 if the session is read-only, as on a standby.
 */
export async function prepareSession(client: ClientBase, settings: SessionSettings): Promise<void> {
  const { statementTimeoutMs, lockTimeoutMs, idleInTransactionTimeoutMs } = settings
  const values = Object.entries({
    ...SETTINGS,
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
  }).filter(([, value]) => value !== undefined)
  const { pid } = await readSession(
    client,
    `SELECT ${SESSION} FROM (SELECT count(set_config(name, value, false)) FROM unnest($1::text[], $2::text[]) AS s (name, value)) AS settings`,
    [values.map(([name]) => name), values.map(([, value]) => String(value))],
  )
  processes.set(client, pid)
}

/**
 * Checks a session that holds a lock or a subscription, while no query of it is in progress.
 * @throws DatabaseError if it became read-only, or a pooler in transaction mode gave it the session of another client.
 */
export async function checkSession(client: ClientBase): Promise<void> {
  const { pid } = await readSession(client, `SELECT ${SESSION}`)
  if (pid !== processes.get(client))
    throw sessionError(CONNECTION_FAILURE, 'the pooler replaced the session: it must be in session mode')
}

async function readSession(client: ClientBase, text: string, values: unknown[] = []): Promise<Session> {
  const query: QueryConfig = { text, values, query_timeout: SETUP_TIMEOUT_MS }
  const { rows } = await client.query<Session>(query)
  const [session] = rows
  if (!session || session.isReadOnly) throw sessionError(READ_ONLY, 'the session is read-only')
  return session
}

const sessionError = (code: string, message: string) =>
  Object.assign(new DatabaseError(message, 0, 'error'), { code, severity: 'FATAL' })

/** How a connection to this URL is opened; `prepareSession` configures it. */
export const connectionConfig = (url: string, config: ClientConfig): ClientConfig => ({
  keepAlive: true,
  ...config,
  ...connectionOf(url),
})
