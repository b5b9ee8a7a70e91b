import { createDatabase, DatabaseError, migrate, openGatewayDatabase, type Service } from '@tollgate/database'
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { closeLater } from './closing'

const IN_USE = '55006'

/**
 * The address of a database of this test's own, with the service's migrations, until {@link closeAll}. They run once for
 * all tests, into a template on the server at `TEST_POSTGRES_URL`.
 */
export async function migratedDatabase(service: Service): Promise<string> {
  const template = `${service}_${fingerprint(service)}`
  await createDatabase(urlOf(template))
  await migrate({ url: urlOf(template), service })

  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(`create database ${name} template ${template}`)
  closeLater(() => onServer(`drop database ${name} with (force)`))
  return urlOf(name)
}

function urlOf(database: string): string {
  const url = process.env['TEST_POSTGRES_URL']
  if (!url) throw new Error('TEST_POSTGRES_URL is not set: run the tests from the root of the repository')
  return Object.assign(new URL(url), { pathname: database }).href
}

async function onServer(statement: string) {
  // Any service's door leads to the server; nothing of the service is in the database `postgres`.
  const server = openGatewayDatabase({ url: urlOf('postgres'), poolSize: 1 })
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

function fingerprint(service: Service): string {
  const migrations = join(__dirname, '../../../prisma', service, 'migrations')
  const hash = createHash('sha256')
  for (const file of readdirSync(migrations, { recursive: true, encoding: 'utf8' }).sort())
    if (file.endsWith('.sql')) hash.update(file).update(readFileSync(join(migrations, file)))
  return hash.digest('hex').slice(0, 16)
}
