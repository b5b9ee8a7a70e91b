import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isAlive, startProcess, untilDead } from '@tollgate/processes'
import { Client } from 'pg'
import { type PostgresOptions, startPostgres } from './postgres'
import { postgresHome, removePostgres } from './postgres-home'

jest.setTimeout(30_000)

// Below a folder that only we may enter: as root, the server then has to live elsewhere.
const closed = join(tmpdir(), `tollgate-postgres-${randomUUID()}`)
const folder = join(closed, 'postgres')
beforeAll(() => mkdirSync(closed, { mode: 0o700 }))
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((stop) => stop()))
})
afterAll(() => {
  removePostgres(folder)
  rmSync(closed, { recursive: true })
})

async function start(options: Partial<PostgresOptions> = {}) {
  const postgres = await startPostgres({ folder, durable: false, ...options })
  open.push(postgres.stop)
  return postgres
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.map((row: unknown[]) => row[0])
  } finally {
    await client.end()
  }
}

describe('startPostgres', () => {
  test('keeps what was written when it is stopped and started again', async () => {
    const first = await start()
    const url = await first.createDatabase('kept')
    await ask(url, "CREATE TABLE words AS SELECT 'written' AS word")
    await first.stop()
    expect(isAlive(first.pid)).toBe(false)

    const second = await start()

    expect(await ask(second.url('kept'), 'SELECT word FROM words')).toEqual(['written'])
  })

  test('keeps what was committed when the server is killed, and starts again at once', async () => {
    const killed = await start({ durable: true })
    const url = await killed.createDatabase('survivor')
    await ask(url, "CREATE TABLE words AS SELECT 'committed' AS word")
    process.kill(killed.pid, 'SIGKILL')

    const next = await start()

    expect(await ask(next.url('survivor'), 'SELECT word FROM words')).toEqual(['committed'])
  })

  test('waits for what a killed server was still doing', async () => {
    const killed = await start()
    const busy = `DO $$ DECLARE until timestamptz := clock_timestamp() + interval '1.5 s';
      BEGIN WHILE clock_timestamp() < until LOOP END LOOP; END $$`
    const working = ask(killed.url('postgres'), busy).catch(() => undefined)
    const active = "SELECT count(*)::int FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'"
    while ((await ask(killed.url('postgres'), active))[0] !== 1);
    process.kill(killed.pid, 'SIGKILL')

    const next = await start()
    await working

    expect(await ask(next.url('postgres'), 'SELECT 1')).toEqual([1])
  })

  test('starts although the number of the killed server now is that of another process', async () => {
    const killed = await start()
    process.kill(killed.pid, 'SIGKILL')
    await untilDead(killed.pid)
    const { data, place, owner } = postgresHome(folder)
    const logFile = join(folder, 'other.log')
    const other = await startProcess({
      name: 'other',
      command: 'sleep',
      args: ['60'],
      logFile,
      cwd: place,
      owner,
    })
    open.push(other.stop)
    const lock = join(data, 'postmaster.pid')
    writeFileSync(lock, readFileSync(lock, 'utf8').replace(/^\d+/, String(other.pid)))

    const next = await start()

    expect(await ask(next.url('postgres'), 'SELECT 1')).toEqual([1])
    expect(isAlive(other.pid)).toBe(true)
  })

  test('does not disturb a server that still runs on the same folder', async () => {
    const running = await start()

    await expect(start()).rejects.toThrow(/Another Postgres runs on .*: stop/)
    expect(() => removePostgres(folder)).toThrow(/still runs/)

    expect(await ask(running.url('postgres'), 'SELECT 1')).toEqual([1])
  })

  test('stops within seconds, although clients are connected', async () => {
    const postgres = await start()
    const client = new Client({ connectionString: postgres.url('postgres') })
    client.on('error', () => undefined)
    await client.connect()

    const began = Date.now()
    await postgres.stop()

    expect(Date.now() - began).toBeLessThan(5_000)
    await client.end()
  })

  test('takes another port if the preferred one is busy', async () => {
    const busy = await freePort()
    const other = createServer().listen(busy, '127.0.0.1')
    await once(other, 'listening')

    const postgres = await start({ port: busy })
    other.close()

    expect(postgres.port).not.toBe(busy)
    expect(await ask(postgres.url('postgres'), 'SELECT inet_server_addr()::text')).toEqual(['127.0.0.1/32'])
  })

  test('requires the password, which only its owner can read', async () => {
    const postgres = await start()
    const { passwordFile } = postgresHome(folder)

    await expect(ask(postgres.url('postgres').replace(/:[0-9a-f]+@/, ':guess@'), 'SELECT 1')).rejects.toThrow(
      /password/,
    )
    expect(statSync(passwordFile).mode & 0o777).toBe(0o600)
  })

  test('is durable by default, and never runs as root', async () => {
    const postgres = await startPostgres({ folder })
    open.push(postgres.stop)

    const settings = [
      'fsync',
      'synchronous_commit',
      'full_page_writes',
      'max_connections',
      'listen_addresses',
    ]
    const values = await Promise.all(settings.map((name) => ask(postgres.url('postgres'), `SHOW ${name}`)))
    expect(values.flat()).toEqual(['on', 'on', 'on', '500', '127.0.0.1'])
    expect(statSync(postgresHome(folder).data).uid).not.toBe(0)
  })

  test('makes a database from a template, and leaves one alone that exists', async () => {
    const postgres = await start()
    await ask(await postgres.createDatabase('a template'), "CREATE TABLE words AS SELECT 'copied' AS word")

    const url = await postgres.createDatabase('copy', { template: 'a template' })
    await ask(url, "UPDATE words SET word = 'changed'")

    expect(await postgres.createDatabase('copy', { template: 'a template' })).toBe(url)
    expect(await ask(url, 'SELECT word FROM words')).toEqual(['changed'])
  })
})

describe('removePostgres', () => {
  test('removes everything, so that the next start begins with nothing', async () => {
    const before = await start()
    await before.createDatabase('gone')
    await before.stop()

    removePostgres(folder)

    const after = await start()
    expect(
      await ask(after.url('postgres'), "SELECT datname FROM pg_database WHERE datname = 'gone'"),
    ).toEqual([])
  })
})
