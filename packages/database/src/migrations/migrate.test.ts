import { Client } from 'pg'
import { emptyDatabase, migrationsFolder, query, writeMigrations } from '../testing/database'
import { filters, migrationList, openEngine } from './engine'
import { readMigrations } from './folder'
import { migrate } from './migrate'
import { resolveMigration } from './resolve'

const service = 'gateway'
const history =
  'SELECT migration_name AS name, finished_at IS NOT NULL AS done FROM _prisma_migrations ORDER BY 1'
const tables = `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`
const names = (rows: Record<string, unknown>[]) => rows.map(({ name }) => name)

const first = { '20260101000000_first': 'CREATE TABLE first (id int PRIMARY key);' }
const second = { '20260102000000_second': 'CREATE TABLE second (id int REFERENCES first);' }
const broken = {
  '20260103000000_broken': 'CREATE TABLE half (id int);\ncreate TABLE whole (id no_such_type);',
}
const mended = { '20260103000000_broken': 'CREATE TABLE half (id int);' }

const sessions: Client[] = []
async function session(url: string) {
  const client = await new Client({ connectionString: url }).connect()
  sessions.push(client)
  return client
}
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((client) => client.end()))
})

describe('migrate', () => {
  test('applies every migration in order, as Prisma itself would have recorded it', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder({ ...second, ...first })
    const { applied } = await migrate({ url, service, migrationsFolder: folder })

    expect(applied).toEqual(['20260101000000_first', '20260102000000_second'])
    expect(names(await query(url, tables))).toEqual(['_prisma_migrations', 'first', 'second'])
    const client = await session(url)
    const engine = await openEngine(client)
    const migrationsList = migrationList(await readMigrations(folder))
    const asked = { migrationsList, filters, optInToShadowDatabase: false }
    expect(await engine.diagnoseMigrationHistory(asked)).toEqual({
      editedMigrationNames: [],
      failedMigrationNames: [],
      hasMigrationsTable: true,
      history: null,
    })
  })

  test('is idempotent, and applies only new migrations', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder(first)
    await migrate({ url, service, migrationsFolder: folder })
    const before = await query(url, 'SELECT * FROM _prisma_migrations')
    expect(await migrate({ url, service, migrationsFolder: folder })).toEqual({ applied: [] })
    expect(await query(url, 'SELECT * FROM _prisma_migrations')).toEqual(before)

    await writeMigrations(folder, second)
    expect(await migrate({ url, service, migrationsFolder: folder })).toEqual({
      applied: ['20260102000000_second'],
    })
  })

  test('does not create its own table if there is nothing to apply', async () => {
    const url = await emptyDatabase()
    await migrate({ url, service, migrationsFolder: await migrationsFolder({}) })
    expect(await query(url, tables)).toEqual([])
  })

  test('does not split function bodies, comments and strings at semicolons', async () => {
    const url = await emptyDatabase()
    const sql = `-- one; two
      CREATE function twice(n int) returns int language plpgsql AS $$ BEGIN n := n * 2; return n; END $$;
      CREATE TABLE note (text text DEFAULT 'a;b');`
    await migrate({ url, service, migrationsFolder: await migrationsFolder({ '20260101000000_f': sql }) })
    expect(await query(url, 'SELECT twice(21)')).toEqual([{ twice: 42 }])
  })

  test('applies each migration once in five concurrent runs', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder({
      '20260101000000_slow': 'CREATE TABLE ran (id int); SELECT pg_sleep(0.5);',
      '20260102000000_count': 'INSERT INTO ran VALUES (1);',
    })
    const runs = Array.from({ length: 5 }, () => migrate({ url, service, migrationsFolder: folder }))
    const applied = (await Promise.all(runs)).map((run) => run.applied.length)
    expect(applied.sort()).toEqual([0, 0, 0, 0, 2])
    expect(await query(url, 'SELECT * FROM ran')).toHaveLength(1)
    expect(await query(url, history)).toHaveLength(2)
  })

  test('leaves no handle that keeps the process alive', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    await migrate({ url: await emptyDatabase(), service, migrationsFolder: await migrationsFolder(first) })
    expect(timers()).toBe(before)
  })

  test('waits for another migrator, reports it, and fails after the timeout', async () => {
    const url = await emptyDatabase()
    const other = await session(url)
    await other.query('SELECT pg_advisory_lock(72707369)')
    const messages: string[] = []
    const options = {
      url,
      service,
      migrationsFolder: await migrationsFolder(first),
      lockTimeoutSeconds: 0.3,
    } as const
    const onProgress = (message: string) => messages.push(message)
    await expect(migrate({ ...options, onProgress })).rejects.toThrow(/held the lock for 0.3 s.*pg_locks/)
    expect(messages).toEqual(['migration lock held by another migrator; waiting'])
    await other.end()
    expect((await migrate(options)).applied).toHaveLength(1)
  })

  test('reports a lost connection', async () => {
    const url = await emptyDatabase()
    const other = await session(url)
    await other.query('SELECT pg_advisory_lock(72707369)')
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tollgate-migrate'`
    const onProgress = () => void other.query(end)
    await expect(
      migrate({ url, service, migrationsFolder: await migrationsFolder(first), onProgress }),
    ).rejects.toThrow(/the connection was lost. Migrate again/)
  })

  test('does not wait for the lock if it is up to date', async () => {
    const url = await emptyDatabase()
    const options = {
      url,
      service,
      migrationsFolder: await migrationsFolder(first),
      lockTimeoutSeconds: 0,
    } as const
    await migrate(options)
    const other = await session(url)
    await other.query('SELECT pg_advisory_lock(72707369)')
    expect(await migrate(options)).toEqual({ applied: [] })
  })

  test('continues with the second migration after a stop between two', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder({ ...first, ...second })
    const stop = new AbortController()
    const onProgress = () => stop.abort()
    await expect(
      migrate({ url, service, migrationsFolder: folder, onProgress, signal: stop.signal }),
    ).rejects.toThrow(/aborted/)
    expect(await query(url, history)).toEqual([{ name: '20260101000000_first', done: true }])
    expect((await migrate({ url, service, migrationsFolder: folder })).applied).toEqual([
      '20260102000000_second',
    ])
  })
})

describe('migrate refuses, and applies nothing,', () => {
  test('a migration that was edited after it was applied', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder(first)
    await migrate({ url, service, migrationsFolder: folder })
    await writeMigrations(folder, { '20260101000000_first': 'CREATE TABLE other (id int);', ...second })
    await expect(migrate({ url, service, migrationsFolder: folder })).rejects.toThrow(
      /Migration 20260101000000_first was edited.*Put its migration.sql back/,
    )
    expect(names(await query(url, tables))).toEqual(['_prisma_migrations', 'first'])
  })

  test('but accepts changed line endings', async () => {
    const url = await emptyDatabase()
    const sql = 'CREATE TABLE a (id int);\ncreate TABLE b (id int);\n'
    const folder = await migrationsFolder({ '20260101000000_first': sql })
    await migrate({ url, service, migrationsFolder: folder })
    await writeMigrations(folder, { '20260101000000_first': sql.replaceAll('\n', '\r\n') })
    expect(await migrate({ url, service, migrationsFolder: folder })).toEqual({ applied: [] })
  })

  test('a migration in the database that the folder lacks', async () => {
    const url = await emptyDatabase()
    await migrate({ url, service, migrationsFolder: await migrationsFolder({ ...first, ...second }) })
    const older = await migrationsFolder({ ...first, ...mended })
    await expect(migrate({ url, service, migrationsFolder: older })).rejects.toThrow(
      /20260102000000_second is in the database but not in the folder.*Deploy the release/,
    )
    expect(names(await query(url, tables))).not.toContain('half')
  })

  test('a failed migration that was rolled back, until the operator has resolved it', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder({ ...first, ...broken })
    const reason = /Migration 20260103000000_broken failed.*line 2: type "no_such_type" does not exist/
    await expect(migrate({ url, service, migrationsFolder: folder })).rejects.toThrow(reason)
    expect(names(await query(url, tables))).toEqual(['_prisma_migrations', 'first'])

    await writeMigrations(folder, { ...second, ...mended })
    const refused = migrate({ url, service, migrationsFolder: folder })
    await expect(refused).rejects.toThrow(reason)
    await expect(refused).rejects.toThrow('resolve gateway --rolled-back 20260103000000_broken')
    expect(names(await query(url, tables))).toEqual(['_prisma_migrations', 'first'])

    const migration = '20260103000000_broken'
    await resolveMigration({ url, service, migrationsFolder: folder, migration, as: 'rolled-back' })
    expect((await migrate({ url, service, migrationsFolder: folder })).applied).toEqual([
      '20260102000000_second',
      '20260103000000_broken',
    ])
  })

  test('a failed migration until it is marked as applied, and then does not run it', async () => {
    const url = await emptyDatabase()
    const folder = await migrationsFolder({ ...first, ...broken })
    await expect(migrate({ url, service, migrationsFolder: folder })).rejects.toThrow('failed')
    const migration = '20260103000000_broken'
    await resolveMigration({ url, service, migrationsFolder: folder, migration, as: 'applied' })
    expect(await migrate({ url, service, migrationsFolder: folder })).toEqual({ applied: [] })
  })

  test('a database that has tables but no history', async () => {
    const url = await emptyDatabase()
    await query(url, 'CREATE TABLE mine (id int)')
    await expect(migrate({ url, service, migrationsFolder: await migrationsFolder(first) })).rejects.toThrow(
      /has tables, but no history/,
    )
  })

  test('a missing folder', async () => {
    const url = await emptyDatabase()
    await expect(migrate({ url, service, migrationsFolder: '/no/such/folder' })).rejects.toThrow(
      'There is no migrations folder at /no/such/folder',
    )
  })
})
