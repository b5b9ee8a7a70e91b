import { DatabaseSetupError } from '../database-setup-error'
import { connectWhenReady } from '../wait'
import { migrationList, openEngine } from './engine'
import { defaultMigrationsFolder, readMigrations, type Service } from './folder'
import { holdMigrationLock } from './lock'

export type ResolveOptions = {
  url: string
  service: Service
  migrationsFolder?: string | undefined
  migration: string
  /** The state that the operator found: no change of the migration is in the database, or all are. */
  as: 'rolled-back' | 'applied'
}

/** Marks a failed migration as applied or rolled back. Changes only Prisma's own table. */
export async function resolveMigration(options: ResolveOptions): Promise<void> {
  const { url, service, migration, as } = options
  const migrations = await readMigrations(options.migrationsFolder ?? defaultMigrationsFolder(service))
  const client = await connectWhenReady(url, { applicationName: 'tollgate-migrate' }, {})
  try {
    await holdMigrationLock(client, { onProgress: () => undefined })
    const engine = await openEngine(client)
    await (as === 'applied'
      ? engine.markMigrationApplied({ migrationName: migration, migrationsList: migrationList(migrations) })
      : engine.markMigrationRolledBack({ migrationName: migration }))
    engine.free()
  } catch (error) {
    throw error instanceof DatabaseSetupError
      ? error
      : new DatabaseSetupError((error as Error).message.trim())
  } finally {
    await client.end()
  }
}
