import { DatabaseError, type Client } from 'pg'
import { checksumsOf, type Migration, type Service } from './folder'

export type HistoryRow = {
  migration_name: string
  checksum: string
  started_at: Date
  finished_at: Date | null
  logs: string | null
}

const UNDEFINED_TABLE = '42P01'

export async function readHistory(client: Client): Promise<HistoryRow[]> {
  try {
    const { rows } = await client.query<HistoryRow>(
      `SELECT migration_name, checksum, started_at, finished_at, logs
         FROM public._prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
    )
    return rows
  } catch (error) {
    if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE) return []
    throw error
  }
}

/** The pending migrations, and every problem that prevents applying them. */
export function compare(migrations: Migration[], history: HistoryRow[], service: Service) {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]))
  const known = new Set(history.map((row) => row.migration_name))
  return {
    pending: migrations.filter(({ name }) => !known.has(name)),
    problems: history.flatMap((row) => problemOf(row, byName.get(row.migration_name), service) ?? []),
  }
}

function problemOf(row: HistoryRow, migration: Migration | undefined, service: Service): string | undefined {
  const name = row.migration_name
  if (!row.finished_at) {
    const reason = row.logs ? errorIn(row.logs) : 'it did not finish'
    return `Migration ${name} failed (begun at ${row.started_at.toISOString()}): ${reason}.\n${remedyFor(name, service)}`
  }
  if (!migration) {
    return (
      `Migration ${name} is in the database but not in the folder: a newer release was here, or this is another ` +
      `service's database. Deploy the release that has it, or correct DATABASE_URL`
    )
  }
  if (!checksumsOf(migration).includes(row.checksum)) {
    return (
      `Migration ${name} was edited after it was applied (its checksum differs). Put its migration.sql back as it ` +
      `was released, and write the change as a new migration: tollgate-database diff ${service} --name NAME`
    )
  }
  return undefined
}

export const errorIn = (report: string) =>
  (/ERROR: *(.*)/.exec(report)?.[1] ?? report.split('\n')[0] ?? report).replace(/\.$/, '')

export const remedyFor = (name: string, service: Service) =>
  `  Look whether any of it is in the database. None should be: a migration is one transaction, unless it commits by itself.
  None of it: mend it, run  tollgate-database resolve ${service} --rolled-back ${name}  and migrate again.
  All of it:  run  tollgate-database resolve ${service} --applied ${name}  and migrate again.`
