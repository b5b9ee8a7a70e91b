import type { ClientConfig } from 'pg'
import { DatabaseSetupError } from './database-setup-error'

export type Address = {
  host: string
  port: string
  database: string
}

const FORM = 'postgresql://USER:PASSWORD@HOST:5432/DATABASE'

/** @throws DatabaseSetupError if it is not a Postgres URL with a database; the message does not repeat the URL. */
export function addressOf(url: string): Address {
  const { hostname, port, pathname, searchParams } = parse(url)
  return {
    host: searchParams.get('host') ?? (hostname || 'localhost'),
    port: searchParams.get('port') ?? (port || '5432'),
    database: decodeURIComponent(pathname.slice(1)),
  }
}

export const describeAddress = ({ host, port, database }: Address) =>
  `Postgres at ${host}:${port}, database "${database}"`

export function withDatabase(url: string, database: string): string {
  const parsed = parse(url)
  parsed.pathname = `/${encodeURIComponent(database)}`
  return parsed.href
}

/**
 * The time zone is UTC because Prisma's adapter reads a timestamptz as UTC. Postgres keeps the plan of a prepared statement until
 * the next ANALYZE, in which time a small table can grow by a million rows: a plan must not scan it. `jit` would compile for
 * 0.1 s each statement that still must.
 */
const OPTIONS = '-c timezone=UTC -c enable_seqscan=off -c jit=off'

/** Settings of every session. */
export function sessionSettings(url: string, settings: ClientConfig): ClientConfig {
  const parsed = parse(url)
  const options = parsed.searchParams.get('options')
  parsed.searchParams.set('options', `${options ?? ''} ${OPTIONS}`.trim())
  return { keepAlive: true, ...settings, connectionString: parsed.href }
}

function parse(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new DatabaseSetupError(`DATABASE_URL is not a Postgres URL. It has the form ${FORM}`)
  }
  if (parsed.pathname.length < 2) {
    throw new DatabaseSetupError(`DATABASE_URL names no database. It has the form ${FORM}`)
  }
  const schema = parsed.searchParams.get('schema') ?? 'public'
  if (schema !== 'public') {
    throw new DatabaseSetupError(
      `DATABASE_URL asks for the schema "${schema}", but the tables are kept in "public". Give each service its own database and leave ?schema= out`,
    )
  }
  return parsed
}
