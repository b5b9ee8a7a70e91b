import {
  createDatabase,
  DatabaseError,
  type GatewayDatabase,
  migrate,
  openGatewayDatabase,
  type Service,
} from '@tollgate/database'
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { closeLater } from './closing'

const IN_USE = '55006'

/**
 * The URL of a new, migrated database, which {@link closeAll} drops. All tests share a migrated template on
 * the server at `TEST_POSTGRES_URL`.
 */
export async function migratedDatabase(service: Service): Promise<string> {
  return newDatabase(await (templates[service] ??= createTemplate(service)))
}

/** The URL of a new database without tables, which {@link closeAll} drops. */
export const emptyDatabase = (): Promise<string> => newDatabase('template0')

async function newDatabase(template: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // The default strategy writes every page to the WAL as well, at twice the CPU time.
  await onServer(`CREATE DATABASE ${name} template ${template} strategy file_copy`)
  closeLater(() => onServer(`DROP DATABASE ${name} WITH (force)`))
  return urlOf(name)
}

const templates: Partial<Record<Service, Promise<string>>> = {}

async function createTemplate(service: Service): Promise<string> {
  const template = `${service}_${fingerprint(service)}`
  await createDatabase(urlOf(template))
  await migrate({ url: urlOf(template), service })
  return template
}

function urlOf(database: string): string {
  const url = process.env['TEST_POSTGRES_URL']
  if (!url) throw new Error('TEST_POSTGRES_URL is not set: run the tests from the root of the repository')
  return Object.assign(new URL(url), { pathname: database }).href
}

async function onServer(statement: string) {
  const { pool } = (server ??= openServer())
  for (let attempts = 1; ; attempts++) {
    try {
      return await pool.query(statement)
    } catch (error) {
      // Another test is still connected to the template; Postgres has already waited five seconds.
      if (!(error instanceof DatabaseError && error.code === IN_USE) || attempts === 5) throw error
    }
  }
}

let server: GatewayDatabase | undefined

/** A session in the server's own database `postgres`; either service's client can open it. */
function openServer(): GatewayDatabase {
  const opened = openGatewayDatabase({ url: urlOf('postgres'), poolSize: 3 })
  closeLater(() => {
    server = undefined
    return opened.close()
  })
  return opened
}

function fingerprint(service: Service): string {
  const migrations = join(__dirname, '../../../prisma', service, 'migrations')
  const hash = createHash('sha256')
  for (const file of readdirSync(migrations, { recursive: true, encoding: 'utf8' }).sort())
    if (file.endsWith('.sql')) hash.update(file).update(readFileSync(join(migrations, file)))
  return hash.digest('hex').slice(0, 16)
}
