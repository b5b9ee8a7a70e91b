import { DatabaseProblem } from '../problem'
import { connectWhenReady } from '../wait'
import { migrationList, openEngine } from './engine'
import { defaultMigrationsFolder, readMigrations, type Service } from './folder'
import { holdMigrationLock } from './lock'

export interface ResolveOptions {
  url: string
  service: Service
  migrationsFolder?: string | undefined
  migration: string
  /** What became of it, as the operator found: nothing of it is in the database, or all of it is. */
  as: 'rolled-back' | 'applied'
}

/** Tells the history what became of a migration that failed, so that `migrate` goes on. Changes no table but Prisma's own. */
export async function resolveMigration(options: ResolveOptions): Promise<void> {
  const { url, service, migration, as } = options
  const migrations = await readMigrations(options.migrationsFolder ?? defaultMigrationsFolder(service))
  const client = await connectWhenReady(url, { application_name: 'tollgate-migrate' }, {})
  try {
    await holdMigrationLock(client, { onProgress: () => undefined })
    const engine = await openEngine(client)
    await (as === 'applied'
      ? engine.markMigrationApplied({ migrationName: migration, migrationsList: migrationList(migrations) })
      : engine.markMigrationRolledBack({ migrationName: migration }))
    engine.free()
  } catch (error) {
    throw error instanceof DatabaseProblem ? error : new DatabaseProblem((error as Error).message.trim())
  } finally {
    await client.end()
  }
}
