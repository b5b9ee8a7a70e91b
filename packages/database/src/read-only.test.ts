import { randomUUID } from 'node:crypto'
import { checkSession, migrate, openGatewayDatabase, unavailableReason, waitForDatabase } from './index'
import type { GatewayDatabase } from './index'
import { emptyDatabase, query, serverUrl } from './testing/database'

const READ_ONLY = 'Postgres: it is read-only: a standby, or default_transaction_read_only is on'

let url: string
let database: GatewayDatabase
beforeEach(async () => {
  url = await emptyDatabase()
  await migrate({ url, service: 'gateway' })
  database = openGatewayDatabase({ url, poolSize: 3 })
})
afterEach(() => database.close())

const setDefault = (value: 'on' | 'off') =>
  query(
    serverUrl(),
    `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${value}`,
  )

/** A failover leaves sessions so: the connections stay open, and every write is refused. */
async function makeOpenSessionsReadOnly() {
  const clients = await Promise.all([1, 2, 3].map(() => database.pool.connect()))
  for (const client of clients) await client.query('SET default_transaction_read_only = on')
  clients.pop()?.release()
  clients.pop()?.release()
  return clients[0]!
}

const add = { data: { id: randomUUID() } }
const ways: Record<string, () => Promise<unknown>> = {
  'the pool': () => database.pool.query('INSERT INTO replicas (id) VALUES ($1)', [randomUUID()]),
  Prisma: () => database.prisma.replica.create(add),
  'a transaction of Prisma': () => database.prisma.$transaction((all) => all.replica.create(add)),
}

test.each(Object.keys(ways))(
  'the first refused write through %s is "unavailable", and replaces all connections',
  async (way) => {
    const held = await makeOpenSessionsReadOnly()

    expect(await ways[way]!().catch(unavailableReason)).toBe(READ_ONLY)

    held.release()
    await Promise.all([1, 2, 3].map(() => database.prisma.$transaction((all) => all.replica.count())))
    await Promise.all(
      Object.values(ways)
        .slice(0, 2)
        .map((write) => write()),
    )
    expect((await database.pool.query('SELECT count(*) FROM replicas')).rows).toEqual([{ count: 2n }])
  },
)

test('a read-only session is refused as a connection, until it is writable', async () => {
  await setDefault('on')
  expect(await ways['the pool']!().catch(unavailableReason)).toBe(READ_ONLY)
  expect(await ways['Prisma']!().catch(unavailableReason)).toBe(READ_ONLY)
  expect(await ways['a transaction of Prisma']!().catch(unavailableReason)).toBe(READ_ONLY)
  const reasons: string[] = []
  const onRetry = (_: number, reason: string) => {
    reasons.push(reason)
    if (reasons.length === 1) void setDefault('off')
  }
  await waitForDatabase(url, { onRetry })
  expect(reasons[0]).toContain('it is read-only')
  await ways['the pool']!()
})

test('a session that holds a lock learns that it became read-only without a write', async () => {
  const held = await makeOpenSessionsReadOnly()
  expect(await checkSession(held).catch(unavailableReason)).toBe(READ_ONLY)
  held.release(true)
})
