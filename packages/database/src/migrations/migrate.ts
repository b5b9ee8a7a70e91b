import type { Client } from 'pg'
import { addressOf, describeAddress } from '../address'
import { DatabaseSetupError } from '../database-setup-error'
import { connectWhenReady } from '../wait'
import { filters, migrationList, openEngine } from './engine'
import { defaultMigrationsFolder, readMigrations, type Migration, type Service } from './folder'
import { compare, errorIn, readHistory, remedyFor } from './history'
import { holdMigrationLock } from './lock'
import { type Progress } from './progress'

export type MigrateOptions = {
  url: string
  service: Service
  migrationsFolder?: string | undefined
  onProgress?: Progress | undefined
  /** Stops a wait, or the run between two migrations; a migration in progress is finished. */
  signal?: AbortSignal | undefined
  /** How long to wait for Postgres, and for another migrator; 60 and 300 by default. */
  timeoutSeconds?: number | undefined
  lockTimeoutSeconds?: number | undefined
}

/** A migration that waits for a table lock blocks every later query on the table. */
const LOCK_TIMEOUT_MS = 30_000

/**
 * Applies the pending migrations of the folder. Idempotent; concurrent runs wait for each other. The history is Prisma's own,
 * so that `prisma migrate deploy` can take over at any time.
 *
 * @throws DatabaseSetupError, without applying any, if an applied migration was edited, failed or is missing in the folder
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const { url, service, signal, timeoutSeconds, onProgress = () => undefined } = options
  const migrations = await readMigrations(options.migrationsFolder ?? defaultMigrationsFolder(service))
  const onRetry = (attempt: number, reason: string) => onProgress('waiting for Postgres', { attempt, reason })
  const client = await connectWhenReady(
    url,
    { applicationName: 'tollgate-migrate', lockTimeoutMs: LOCK_TIMEOUT_MS },
    { onRetry, signal, timeoutSeconds },
  )
  const connectionErrors: Error[] = []
  client.on('error', (error) => connectionErrors.push(error))
  try {
    // Without the lock an unfinished row may be in progress in another migrator, so only "up to date" is reliable.
    const unlocked = compare(migrations, await readHistory(client), service)
    if (unlocked.pending.length === 0 && unlocked.problems.length === 0) return { applied: [] }

    await holdMigrationLock(client, { onProgress, signal, timeoutSeconds: options.lockTimeoutSeconds })
    const { pending, problems } = compare(migrations, await readHistory(client), service)
    if (problems.length > 0)
      throw new DatabaseSetupError([describeAddress(addressOf(url)), ...problems].join('\n'))
    await apply(client, migrations, pending, options)
    return { applied: pending.map(({ name }) => name) }
  } catch (error) {
    if (connectionErrors.length === 0 || error instanceof DatabaseSetupError) throw error
    throw new DatabaseSetupError(
      `${describeAddress(addressOf(url))}: the connection was lost. Migrate again: it goes on where it stopped`,
    )
  } finally {
    await client.end()
  }
}

async function apply(client: Client, migrations: Migration[], pending: Migration[], options: MigrateOptions) {
  if (pending.length === 0) return
  const engine = await openEngine(client)
  for (const migration of pending) {
    options.signal?.throwIfAborted()
    const started = performance.now()
    const upToMigration = migrations.slice(0, migrations.indexOf(migration) + 1)
    await engine
      .applyMigrations({ migrationsList: migrationList(upToMigration), filters })
      .catch((error: unknown) => refuse(error, migration, options.service))
    const milliseconds = Math.round(performance.now() - started)
    options.onProgress?.('migration applied', { migration: migration.name, milliseconds })
  }
  engine.free()
}

function refuse(error: unknown, { name }: Migration, service: Service): never {
  if ((error as { code?: string }).code === 'P3005') {
    throw new DatabaseSetupError(
      `The database has tables, but no history of migrations: it is not one of ours, or was made by hand. ` +
        `Give the ${service} an empty database (tollgate-database create ${service})`,
    )
  }
  const reason = errorIn(error instanceof Error ? error.message : String(error))
  throw new DatabaseSetupError(`Migration ${name} failed: ${reason}.\n${remedyFor(name, service)}`)
}
