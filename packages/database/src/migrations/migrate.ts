import type { Client } from 'pg'
import { addressOf, tell } from '../address'
import { DatabaseProblem } from '../problem'
import { connectWhenReady } from '../wait'
import { filters, migrationList, openEngine } from './engine'
import { defaultMigrationsFolder, readMigrations, type Migration, type Service } from './folder'
import { compare, errorIn, readHistory, remedyFor } from './history'
import { holdMigrationLock } from './lock'

/** A sentence and its facts, as a logger takes them. */
export type Progress = (message: string, facts: Record<string, string | number>) => void

export interface MigrateOptions {
  url: string
  service: Service
  /** `prisma/<service>/migrations` of the checkout unless told. */
  migrationsFolder?: string | undefined
  onProgress?: Progress | undefined
  /** Stops the waiting, and the work between two migrations; one that has begun is finished. */
  signal?: AbortSignal | undefined
  /** How long to wait for Postgres, and for another migrator; 60 and 300 unless told. */
  timeoutSeconds?: number | undefined
  lockTimeoutSeconds?: number | undefined
}

/** A migration that waits for a table holds up every query behind it, so it does not wait for long. */
const LOCK_TIMEOUT_MS = 30_000

/**
 * Brings the database to the state of the migrations folder, and writes nothing if it is there already. The history is
 * Prisma's own, so that `prisma migrate deploy` takes over at any time. Any number may run at once: one works, the
 * others wait and then find nothing to do.
 *
 * @throws DatabaseProblem where an applied migration was edited, one failed, or the folder lacks one; nothing is applied then.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const { url, service, signal, timeoutSeconds, onProgress = () => undefined } = options
  const migrations = await readMigrations(options.migrationsFolder ?? defaultMigrationsFolder(service))
  const onRetry = (attempt: number, reason: string) => onProgress('waiting for Postgres', { attempt, reason })
  const client = await connectWhenReady(
    url,
    { application_name: 'tollgate-migrate', lock_timeout: LOCK_TIMEOUT_MS },
    { onRetry, signal, timeoutSeconds },
  )
  const losses: Error[] = []
  client.on('error', (error) => losses.push(error))
  try {
    // Without the lock a row that is not finished may be another migrator's at work, so only "all is done" is believed.
    const glance = compare(migrations, await readHistory(client), service)
    if (glance.pending.length === 0 && glance.problems.length === 0) return { applied: [] }

    await holdMigrationLock(client, { onProgress, signal, timeoutSeconds: options.lockTimeoutSeconds })
    const { pending, problems } = compare(migrations, await readHistory(client), service)
    if (problems.length > 0) throw new DatabaseProblem([tell(addressOf(url)), ...problems].join('\n'))
    await apply(client, migrations, pending, options)
    return { applied: pending.map(({ name }) => name) }
  } catch (error) {
    if (losses.length === 0 || error instanceof DatabaseProblem) throw error
    throw new DatabaseProblem(
      `${tell(addressOf(url))}: the connection was lost. Migrate again: it goes on where it stopped`,
    )
  } finally {
    await client.end()
  }
}

/** One at a time, so that each is told when it begins and a stop is heeded between two. */
async function apply(client: Client, migrations: Migration[], pending: Migration[], options: MigrateOptions) {
  if (pending.length === 0) return
  const engine = await openEngine(client)
  for (const migration of pending) {
    options.signal?.throwIfAborted()
    const started = performance.now()
    const upToThis = migrations.slice(0, migrations.indexOf(migration) + 1)
    await engine
      .applyMigrations({ migrationsList: migrationList(upToThis), filters })
      .catch((error: unknown) => refuse(error, migration, options.service))
    const milliseconds = Math.round(performance.now() - started)
    options.onProgress?.('migration applied', { migration: migration.name, milliseconds })
  }
  engine.free()
}

function refuse(error: unknown, { name }: Migration, service: Service): never {
  if ((error as { code?: string }).code === 'P3005') {
    throw new DatabaseProblem(
      `The database has tables, but no history of migrations: it is not one of ours, or was made by hand. ` +
        `Give the ${service} an empty database (tollgate-database create ${service})`,
    )
  }
  const reason = errorIn(error instanceof Error ? error.message : String(error))
  throw new DatabaseProblem(`Migration ${name} failed: ${reason}.\n${remedyFor(name, service)}`)
}
