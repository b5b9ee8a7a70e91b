import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase, DatabaseError, migrate, openFacilitatorDatabase } from '@tollgate/database'
import { closeLater } from './closing'

const migrations = join(__dirname, '../../../../prisma/facilitator/migrations')
const IN_USE = '55006'

/** The address of a migrated database of this test's own; the migrations run once for all tests, into a template. */
export async function migratedDatabase(): Promise<string> {
  const template = `facilitator_${fingerprint()}`
  await createDatabase(urlOf(template))
  await migrate({ url: urlOf(template), service: 'facilitator' })

  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(`create database ${name} template ${template}`)
  closeLater(() => onServer(`drop database ${name} with (force)`))
  return urlOf(name)
}

function urlOf(database: string): string {
  const url = process.env.TEST_POSTGRES_URL
  if (!url) throw new Error('TEST_POSTGRES_URL is not set: run the tests from the root of the repository')
  return Object.assign(new URL(url), { pathname: database }).href
}

async function onServer(statement: string) {
  const server = openFacilitatorDatabase({ url: urlOf('postgres'), poolSize: 1 })
  try {
    for (let attempts = 1; ; attempts++) {
      try {
        return await server.pool.query(statement)
      } catch (error) {
        // Another test's migrator still stands in the template; Postgres itself has waited five seconds for it.
        if (!(error instanceof DatabaseError && error.code === IN_USE) || attempts === 5) throw error
      }
    }
  } finally {
    await server.close()
  }
}

function fingerprint(): string {
  const hash = createHash('sha256')
  for (const file of readdirSync(migrations, { recursive: true, encoding: 'utf8' }).sort())
    if (file.endsWith('.sql')) hash.update(file).update(readFileSync(join(migrations, file)))
  return hash.digest('hex').slice(0, 16)
}
