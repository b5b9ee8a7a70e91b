import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withScratchDatabase } from '../databases'
import { DatabaseSetupError } from '../database-setup-error'
import { filters, LOCKFILE, migrationList, openEngine } from './engine'
import { defaultMigrationsFolder, readMigrations, type Service } from './folder'
import { errorIn } from './history'

export type PlanOptions = {
  /** Any database on a server where a scratch database may be created; this one is not changed. */
  url: string
  service: Service
  migrationsFolder?: string | undefined
}

/**
 * The SQL that the migrations lack compared with schema.prisma, or undefined. It runs the migrations in a scratch database and
 * compares only what a Prisma schema can express: not functions, triggers, checks, partial and expression indexes.
 */
export async function difference({
  url,
  service,
  migrationsFolder,
}: PlanOptions): Promise<string | undefined> {
  const folder = migrationsFolder ?? defaultMigrationsFolder(service)
  const path = join(folder, '..', 'schema.prisma')
  const content = await readFile(path, 'utf8').catch(() => {
    throw new DatabaseSetupError(`There is no schema at ${path}: it belongs beside the migrations folder`)
  })
  const migrations = await readMigrations(folder)
  return withScratchDatabase(url, async (client) => {
    try {
      const engine = await openEngine(client, { path, content })
      const { exitCode, stdout } = await engine.diff({
        from: { tag: 'migrations', ...migrationList(migrations) },
        to: { tag: 'schemaDatamodel', files: [{ path, content }] },
        script: true,
        exitCode: true,
        filters,
      })
      engine.free()
      return exitCode === 0 ? undefined : (stdout ?? '')
    } catch (error) {
      throw new DatabaseSetupError(explain(error instanceof Error ? error.message : String(error)))
    }
  })
}

function explain(report: string): string {
  const migration = /Migration `(.+?)` failed to apply/.exec(report)?.[1]
  return migration ? `Migration ${migration} does not apply to an empty database: ${errorIn(report)}` : report
}

/** Writes the difference as a new migration. @returns its file, or undefined if there is no difference */
export async function writeMigration(
  options: PlanOptions & { name: string; now: Date },
): Promise<string | undefined> {
  const { name, now, service } = options
  if (!/^[a-z0-9_]+$/.test(name)) {
    throw new DatabaseSetupError(
      `"${name}" does not do for a name: use small letters, digits and underscores`,
    )
  }
  const folder = options.migrationsFolder ?? defaultMigrationsFolder(service)
  await mkdir(folder, { recursive: true })
  const sql = await difference(options)
  if (sql === undefined) return undefined

  const next = `${now.toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  const last = (await readMigrations(folder)).at(-1)?.name
  if (last && last >= next) {
    throw new DatabaseSetupError(
      `The last migration, ${last}, is dated later than now: correct its name, or the clock`,
    )
  }
  await mkdir(join(folder, next))
  const file = join(folder, next, 'migration.sql')
  await writeFile(file, sql)
  await writeFile(join(folder, 'migration_lock.toml'), LOCKFILE)
  return file
}
