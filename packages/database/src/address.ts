import type { ClientConfig } from 'pg'
import { DatabaseProblem } from './problem'

/** Where a connection URL points, without the user and the password: safe to print. */
export interface Address {
  host: string
  port: string
  database: string
}

const FORM = 'postgresql://USER:PASSWORD@HOST:5432/DATABASE'

/** @throws DatabaseProblem for anything but a Postgres URL that names a database; the URL is not repeated. */
export function addressOf(url: string): Address {
  const { hostname, port, pathname, searchParams } = parse(url)
  return {
    host: searchParams.get('host') ?? (hostname || 'localhost'),
    port: searchParams.get('port') ?? (port || '5432'),
    database: decodeURIComponent(pathname.slice(1)),
  }
}

export const tell = ({ host, port, database }: Address) =>
  `Postgres at ${host}:${port}, database "${database}"`

/** The same server and user, another database. */
export function withDatabase(url: string, database: string): string {
  const parsed = parse(url)
  parsed.pathname = `/${encodeURIComponent(database)}`
  return parsed.href
}

/**
 * Connection settings that hold for every session this package opens. Sessions are in UTC whatever the server's
 * zone is: Prisma's adapter reads the clock time of a timestamptz and takes it for UTC.
 */
export function sessionSettings(url: string, settings: ClientConfig): ClientConfig {
  const parsed = parse(url)
  const given = parsed.searchParams.get('options')
  parsed.searchParams.set('options', `${given ?? ''} -c timezone=UTC`.trim())
  return { keepAlive: true, ...settings, connectionString: parsed.href }
}

function parse(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new DatabaseProblem(`DATABASE_URL is not a Postgres URL. It has the form ${FORM}`)
  }
  if (parsed.pathname.length < 2) {
    throw new DatabaseProblem(`DATABASE_URL names no database. It has the form ${FORM}`)
  }
  const schema = parsed.searchParams.get('schema') ?? 'public'
  if (schema !== 'public') {
    throw new DatabaseProblem(
      `DATABASE_URL asks for the schema "${schema}", but the tables are kept in "public". Give each service its own database and leave ?schema= out`,
    )
  }
  return parsed
}
