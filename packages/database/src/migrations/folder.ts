import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSetupError } from '../database-setup-error'

export const services = ['gateway', 'facilitator'] as const
export type Service = (typeof services)[number]

export type Migration = {
  name: string
  sql: string
}

/** `prisma/<service>/migrations` of a checkout: four folders up from the source and from the compiled file. */
export const defaultMigrationsFolder = (service: Service) =>
  resolve(__dirname, '../../../../prisma', service, 'migrations')

/** In the order of application. @throws DatabaseSetupError for a missing, empty or invalid folder */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => {
    throw new DatabaseSetupError(
      `There is no migrations folder at ${folder}. Name it with --migrations FOLDER or MIGRATIONS_DIR`,
    )
  })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => ({
      name,
      sql: await readFile(join(folder, name, 'migration.sql'), 'utf8').catch(() => {
        throw new DatabaseSetupError(
          `${join(folder, name)} has no migration.sql that can be read. Restore or remove it`,
        )
      }),
    })),
  )
}

/** The checksums that Prisma may have recorded: of the text as it is, and with either line ending. */
export function checksumsOf({ sql }: Migration): string[] {
  const unix = sql.replaceAll('\r\n', '\n')
  return [sql, unix, unix.replaceAll('\n', '\r\n')].map((text) =>
    createHash('sha256').update(text).digest('hex'),
  )
}
