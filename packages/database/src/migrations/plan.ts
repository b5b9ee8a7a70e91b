import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withScratchDatabase } from '../databases'
import { DatabaseProblem } from '../problem'
import { filters, LOCKFILE, migrationList, openEngine } from './engine'
import { defaultMigrationsFolder, readMigrations, type Service } from './folder'
import { errorIn } from './history'

export interface PlanOptions {
  /** Any database of a server on which a scratch database may be created; its own is not touched. */
  url: string
  service: Service
  /** `prisma/<service>/migrations` of the checkout unless told; `schema.prisma` is beside it. */
  migrationsFolder?: string | undefined
}

/**
 * The SQL by which schema.prisma is ahead of the migrations, or undefined where they agree. Found by running the
 * migrations in a scratch database. Compared is what a Prisma schema can say: tables, columns, types, defaults, keys,
 * plain indexes. Functions, triggers, checks, partial and expression indexes are the migrations' own business.
 */
export async function difference({
  url,
  service,
  migrationsFolder,
}: PlanOptions): Promise<string | undefined> {
  const folder = migrationsFolder ?? defaultMigrationsFolder(service)
  const path = join(folder, '..', 'schema.prisma')
  const content = await readFile(path, 'utf8').catch(() => {
    throw new DatabaseProblem(`There is no schema at ${path}: it belongs beside the migrations folder`)
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
      throw new DatabaseProblem(explain(error instanceof Error ? error.message : String(error)))
    }
  })
}

function explain(report: string): string {
  const migration = /Migration `(.+?)` failed to apply/.exec(report)?.[1]
  return migration ? `Migration ${migration} does not apply to an empty database: ${errorIn(report)}` : report
}

/** Writes what `difference` finds as the next migration. @returns its file, or undefined where there is nothing to write. */
export async function writeMigration(
  options: PlanOptions & { name: string; now: Date },
): Promise<string | undefined> {
  const { name, now, service } = options
  if (!/^[a-z0-9_]+$/.test(name)) {
    throw new DatabaseProblem(`"${name}" does not do for a name: use small letters, digits and underscores`)
  }
  const folder = options.migrationsFolder ?? defaultMigrationsFolder(service)
  await mkdir(folder, { recursive: true })
  const sql = await difference(options)
  if (sql === undefined) return undefined

  const next = `${now.toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  const last = (await readMigrations(folder)).at(-1)?.name
  if (last && last >= next) {
    throw new DatabaseProblem(
      `The last migration, ${last}, is dated later than now: correct its name, or the clock`,
    )
  }
  await mkdir(join(folder, next))
  const file = join(folder, next, 'migration.sql')
  await writeFile(file, sql)
  await writeFile(join(folder, 'migration_lock.toml'), LOCKFILE)
  return file
}
