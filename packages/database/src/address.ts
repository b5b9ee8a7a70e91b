import { DatabaseSetupError } from './database-setup-error'

export type Address = {
  host: string
  port: string
  database: string
}

const FORM = 'postgresql://USER:PASSWORD@HOST:5432/DATABASE'

/** @throws DatabaseSetupError if it is not a Postgres URL with a database; the message does not repeat the URL. */
export function addressOf(url: string): Address {
  const { hostname, port, pathname, searchParams } = parseDatabaseUrl(url)
  return {
    host: searchParams.get('host') ?? (hostname || 'localhost'),
    port: searchParams.get('port') ?? (port || '5432'),
    database: decodeURIComponent(pathname.slice(1)),
  }
}

export const describeAddress = ({ host, port, database }: Address) =>
  `Postgres at ${host}:${port}, database "${database}"`

export function withDatabase(url: string, database: string): string {
  const parsed = parseDatabaseUrl(url)
  parsed.pathname = `/${encodeURIComponent(database)}`
  return parsed.href
}

function parseDatabaseUrl(url: string): URL {
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
