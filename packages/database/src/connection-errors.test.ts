import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { migrate, openGatewayDatabase, unavailableReason, type GatewayDatabase } from './index'
import { emptyDatabase, query } from './testing/database'

let url: string
beforeAll(async () => {
  url = await emptyDatabase()
  await migrate({ url, service: 'gateway' })
})

const opened: (() => unknown)[] = []
afterAll(async () => {
  for (const close of opened.reverse()) await close()
})

function open(at: string, poolSize = 10) {
  const database = openGatewayDatabase({ url: at, poolSize })
  opened.push(() => database.close())
  return database
}

async function serverWith(onConnection: (socket: Socket) => unknown): Promise<string> {
  const server = createServer(onConnection)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(() => server.close())
  return Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href
}

async function closedPortUrl(): Promise<string> {
  const closedUrl = await serverWith(() => undefined)
  await (opened.pop() as () => unknown)()
  return closedUrl
}

const ways: Record<string, (database: GatewayDatabase, sql: string) => Promise<unknown>> = {
  'the pool': ({ pool }, sql) => pool.query(sql),
  'SQL through Prisma': ({ prisma }, sql) => prisma.$queryRawUnsafe(sql),
  'a transaction of Prisma': ({ prisma }, sql) => prisma.$transaction((all) => all.$queryRawUnsafe(sql)),
}
const reasonsOf = async (ask: (way: (typeof ways)[string]) => Promise<unknown>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(ways).map(async ([name, way]) => [
        name,
        await ask(way).then(() => 'answered', unavailableReason),
      ]),
    ),
  ) as Record<string, string | undefined>
const all = (reason: string | undefined) =>
  Object.fromEntries(Object.keys(ways).map((name) => [name, reason && `Postgres: ${reason}`]))

describe('unavailableReason', () => {
  test('reports a closed port', async () => {
    const database = open(await closedPortUrl())
    expect(await reasonsOf((way) => way(database, 'SELECT 1'))).toEqual(all('nothing listens there'))
    const model = await database.prisma.replica.count().catch(unavailableReason)
    expect(model).toBe('Postgres: nothing listens there')
  })

  test('reports connections that the server closes at once', async () => {
    const database = open(await serverWith((socket) => socket.destroy()))
    expect(await reasonsOf((way) => way(database, 'SELECT 1'))).toEqual(all('it hung up'))
  })

  test('reports a server that does not respond', async () => {
    const database = open(await serverWith(() => undefined))
    expect(await reasonsOf((way) => way(database, 'SELECT 1'))).toEqual({
      ...all('it does not answer'),
      'a transaction of Prisma': 'Postgres: no connection was to be had',
    })
  })

  test('reports an exhausted connection limit', async () => {
    const database = open(url, 1)
    const taken = await database.pool.connect()
    const reasons = await reasonsOf((way) => way(database, 'SELECT 1'))
    taken.release()
    expect(reasons).toEqual(all('no connection was to be had'))
  })

  test('reports a session that Postgres ends during a statement', async () => {
    const database = open(url)
    const reasons = reasonsOf((way) => way(database, `SELECT pg_sleep(14)::text AS "nap"`))
    const naps = `FROM pg_stat_activity WHERE query LIKE '%nap%' AND state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()`
    const deadline = performance.now() + 10_000
    while ((await query(url, `select pid ${naps}`)).length < Object.keys(ways).length)
      if (performance.now() > deadline) throw new Error('The statements were not begun')
    await query(url, `SELECT pg_terminate_backend(pid) ${naps}`)
    expect(await reasons).toEqual(all('it is shutting down'))
  })

  test.each<[string, string, (own: URL) => unknown]>([
    [
      'is locked',
      'it ended the session (55000)',
      ({ pathname }) => query(url, `ALTER DATABASE ${pathname.slice(1)} allow_connections false`),
    ],
    [
      'is gone',
      'the database does not exist',
      ({ pathname }) => query(url, `DROP DATABASE ${pathname.slice(1)}`),
    ],
    ['rejects the password', 'it does not let us in', (own) => (own.password = 'another')],
  ])('says why where the database %s', async (_, reason, change) => {
    const own = new URL(await emptyDatabase())
    await change(own)
    const database = open(own.href)
    expect(await reasonsOf((way) => way(database, 'SELECT 1'))).toEqual(all(reason))
  })

  test('reports connections that this process has closed', async () => {
    const database = open(url)
    await database.close()
    expect(await reasonsOf((way) => way(database, 'SELECT 1'))).toEqual(
      all('its connections are closed, for this process is stopping'),
    )
  })

  test.each([
    ['that makes no sense', 'selct 1'],
    ['that names a missing object', 'SELECT * FROM nowhere'],
    ['that breaks a rule', `INSERT INTO replicas (id) VALUES (NULL)`],
    ['that takes too long', `SET statement_timeout = 1; SELECT pg_sleep(5)`],
    ['that a trigger refuses in words like these', `do $$ begin raise 'Connection terminated'; end $$`],
  ])('is silent of a statement %s', async (_, sql) => {
    const database = open(url)
    expect(await reasonsOf((way) => way(database, sql))).toEqual(all(undefined))
  })

  test.each([
    ['08P01', 'FATAL', 'query_wait_timeout', 'the pooler ended the session (query_wait_timeout)'],
    [
      '08P01',
      'FATAL',
      'cached error: user "someone"',
      'the pooler ended the session (cached error: user "…")',
    ],
    ['08P01', 'ERROR', 'invalid message format', undefined],
    ['25006', 'ERROR', '', 'it is read-only: a standby, or default_transaction_read_only is on'],
    ['08007', 'ERROR', '', 'it hung up'],
    ['53100', 'ERROR', 'could not extend file', 'it has no memory or disk left'],
    ['53200', 'ERROR', 'out of memory', 'it has no memory or disk left'],
    ['57P01', 'FATAL', '', 'it is shutting down'],
    ['57P02', 'FATAL', '', 'it crashed'],
    ['57P03', 'FATAL', '', 'it is starting up or shutting down'],
    ['23505', 'ERROR', '', undefined],
    ['40001', 'ERROR', '', undefined],
  ])('tells by SQLSTATE %s, %s, whether Postgres is unavailable', (code, severity, message, reason) => {
    expect(unavailableReason({ code, severity, message })).toBe(reason && `Postgres: ${reason}`)
  })

  test.each([
    [new TypeError('x is undefined')],
    [new Error('the path says: Connection terminated')],
    [Object.assign(new Error('no such file'), { code: 'ENOENT' })],
    ['Connection terminated'],
    [undefined],
    [null],
  ])('is silent of what is no error of Postgres: %p', (error) => {
    expect(unavailableReason(error)).toBeUndefined()
  })
})
