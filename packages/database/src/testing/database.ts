import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { withDatabase } from '../address'
import { defaultMigrationsFolder, readMigrations, type Service } from '../migrations/folder'

export function serverUrl(): string {
  const url = process.env['TEST_POSTGRES_URL']
  if (!url) throw new Error('TEST_POSTGRES_URL is not set: run the tests from the root of the repository')
  return url
}

export async function emptyDatabase(): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await query(serverUrl(), `CREATE DATABASE ${name}`)
  return withDatabase(serverUrl(), name)
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

const folders: string[] = []
afterAll(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })))
})

export async function migrationsFolder(migrations: Record<string, string>, schema?: string): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'tollgate-migrations-'))
  folders.push(root)
  const folder = join(root, 'migrations')
  await mkdir(folder)
  await writeMigrations(folder, migrations)
  if (schema) await writeFile(join(root, 'schema.prisma'), schema)
  return folder
}

/** A folder of a service's migrations that `isWanted` selects by name. */
export async function selectedMigrations(
  service: Service,
  isWanted: (name: string) => boolean,
): Promise<string> {
  const all = await readMigrations(defaultMigrationsFolder(service))
  const wanted = all.filter(({ name }) => isWanted(name)).map(({ name, sql }) => [name, sql] as const)
  return migrationsFolder(Object.fromEntries(wanted))
}

export async function writeMigrations(folder: string, migrations: Record<string, string>): Promise<void> {
  for (const [name, sql] of Object.entries(migrations)) {
    await mkdir(join(folder, name), { recursive: true })
    await writeFile(join(folder, name, 'migration.sql'), sql)
  }
}
