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
    'create table accounts (id integer not null, balance bigint not null, constraint accounts_pkey primary key (id));',
}
/** What a Prisma schema has no words for. */
const handwritten = {
  '20260102000000_hand': `
    alter table accounts add constraint never_negative check (balance >= 0);
    create index rich on accounts (balance) where balance > 1000;
    create unique index by_parity on accounts ((id % 2), balance);
    create function spend(n int) returns void language sql as $$ update accounts set balance = balance - n; $$;
    create trigger same before update on accounts for each row execute function suppress_redundant_updates_trigger();`,
}
const url = serverUrl()
const service = 'gateway' as const

describe('difference', () => {
  test('finds none where schema and migrations agree, whatever was written by hand beside', async () => {
    const folder = await migrationsFolder({ ...created, ...handwritten }, schema(''))
    expect(await difference({ url, service, migrationsFolder: folder })).toBeUndefined()
  })

  test('shows the SQL by which the schema is ahead', async () => {
    const folder = await migrationsFolder(created, schema('wallet String @unique'))
    const sql = await difference({ url, service, migrationsFolder: folder })
    expect(sql).toMatch(/ALTER TABLE "accounts" ADD COLUMN\s+"wallet" TEXT NOT NULL/)
    expect(sql).toMatch(/CREATE UNIQUE INDEX "accounts_wallet_key"/)
  })

  test('leaves no database behind, not even after migrations that do not apply', async () => {
    const role = `owner_${randomUUID().replaceAll('-', '')}`
    await query(url, `create role ${role} login createdb password 'owner'`)
    const own = new URL(url)
    own.username = role
    own.password = 'owner'
    const folder = await migrationsFolder(
      { '20260101000000_bad': 'create table a (b no_such_type);' },
      schema(''),
    )
    await expect(difference({ url: own.href, service, migrationsFolder: folder })).rejects.toThrow(
      'Migration 20260101000000_bad does not apply to an empty database: line 1: type "no_such_type" does not exist',
    )
    expect(await query(url, `select datname from pg_database where datdba = '${role}'::regrole`)).toEqual([])
    await query(url, `drop role ${role}`)
  })

  test('tells what is wrong with a schema', async () => {
    const folder = await migrationsFolder(created, schema('wallet NoSuchType'))
    await expect(difference({ url, service, migrationsFolder: folder })).rejects.toThrow(/NoSuchType/)
  })

  test.each(services)('the migrations of the %s agree with its schema', async (each) => {
    expect(await difference({ url, service: each })).toBeUndefined()
  })
})

describe('writeMigration', () => {
  const now = new Date('2026-03-04T05:06:07.890Z')

  test('writes the difference as the next migration, after which there is none', async () => {
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

  test('refuses a name that is not a plain word, and a date before the last migration', async () => {
    const folder = await migrationsFolder(created, schema('wallet String?'))
    const options = { url, service, migrationsFolder: folder, now }
    await expect(writeMigration({ ...options, name: '../up' })).rejects.toThrow('does not do for a name')
    const early = { ...options, name: 'early', now: new Date('2025-01-01T00:00:00Z') }
    await expect(writeMigration(early)).rejects.toThrow(/dated later/)
  })
})
