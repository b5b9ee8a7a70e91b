import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { emptyDatabase, migrationsFolder, query, serverUrl } from '../testing/database'
import { services } from './folder'
import { migrate } from './migrate'
import { difference, writeMigration } from './plan'

const schema = (fields: string) => `datasource db {
  provider = "postgresql"
}
model Account {
  id      Int    @id
  balance BigInt
  ${fields}
  @@map("accounts")
}
`
const created = {
  '20260101000000_first':
    'CREATE TABLE accounts (id integer NOT NULL, balance bigint NOT NULL, CONSTRAINT accounts_pkey PRIMARY key (id));',
}
const handwritten = {
  '20260102000000_hand': `
    ALTER TABLE accounts ADD CONSTRAINT never_negative check (balance >= 0);
    CREATE INDEX rich ON accounts (balance) WHERE balance > 1000;
    CREATE UNIQUE INDEX by_parity ON accounts ((id % 2), balance);
    CREATE function spend(n int) returns void language sql AS $$ UPDATE accounts SET balance = balance - n; $$;
    CREATE trigger same before UPDATE ON accounts FOR each row execute function suppress_redundant_updates_trigger();`,
}
const url = serverUrl()
const service = 'gateway' as const

describe('difference', () => {
  test('is undefined if schema and migrations agree, even with further objects', async () => {
    const folder = await migrationsFolder({ ...created, ...handwritten }, schema(''))
    expect(await difference({ url, service, migrationsFolder: folder })).toBeUndefined()
  })

  test('is the SQL that the migrations lack', async () => {
    const folder = await migrationsFolder(created, schema('wallet String @unique'))
    const sql = await difference({ url, service, migrationsFolder: folder })
    expect(sql).toMatch(/ALTER TABLE "accounts" ADD COLUMN\s+"wallet" TEXT NOT NULL/)
    expect(sql).toMatch(/CREATE UNIQUE INDEX "accounts_wallet_key"/)
  })

  test('drops its scratch database, even after a failed migration', async () => {
    const role = `owner_${randomUUID().replaceAll('-', '')}`
    await query(url, `CREATE role ${role} login createdb password 'owner'`)
    const own = new URL(url)
    own.username = role
    own.password = 'owner'
    const folder = await migrationsFolder(
      { '20260101000000_bad': 'CREATE TABLE a (b no_such_type);' },
      schema(''),
    )
    await expect(difference({ url: own.href, service, migrationsFolder: folder })).rejects.toThrow(
      'Migration 20260101000000_bad does not apply to an empty database: line 1: type "no_such_type" does not exist',
    )
    expect(await query(url, `SELECT datname FROM pg_database WHERE datdba = '${role}'::regrole`)).toEqual([])
    await query(url, `drop role ${role}`)
  })

  test('reports an invalid schema', async () => {
    const folder = await migrationsFolder(created, schema('wallet NoSuchType'))
    await expect(difference({ url, service, migrationsFolder: folder })).rejects.toThrow(/NoSuchType/)
  })

  test.each(services)('the migrations of the %s agree with its schema', async (each) => {
    expect(await difference({ url, service: each })).toBeUndefined()
  })
})

describe('writeMigration', () => {
  const now = new Date('2026-03-04T05:06:07.890Z')

  test('writes the difference as the next migration', async () => {
    const folder = await migrationsFolder({ ...created, ...handwritten }, schema('wallet String?'))
    const options = { url, service, migrationsFolder: folder, name: 'wallets', now } as const
    const file = await writeMigration(options)
    expect(file).toBe(`${folder}/20260304050607_wallets/migration.sql`)
    expect(await readFile(file ?? '', 'utf8')).toContain('ADD COLUMN')
    expect(await readFile(`${folder}/migration_lock.toml`, 'utf8')).toContain('postgresql')
    expect(await writeMigration(options)).toBeUndefined()

    const applied = await migrate({ url: await emptyDatabase(), service, migrationsFolder: folder })
    expect(applied.applied).toHaveLength(3)
  })

  test('rejects an invalid name, and a date before the last migration', async () => {
    const folder = await migrationsFolder(created, schema('wallet String?'))
    const options = { url, service, migrationsFolder: folder, now }
    await expect(writeMigration({ ...options, name: '../up' })).rejects.toThrow('does not do for a name')
    const early = { ...options, name: 'early', now: new Date('2025-01-01T00:00:00Z') }
    await expect(writeMigration(early)).rejects.toThrow(/dated later/)
  })
})
