import { randomUUID } from 'node:crypto'
import {
  DatabaseError,
  FacilitatorPrisma,
  migrate,
  openFacilitatorDatabase,
  openGatewayDatabase,
} from './index'
import type { GatewayDatabase, OpenOptions } from './index'
import { emptyDatabase, query } from './testing/database'

let url: string
beforeAll(async () => {
  url = await emptyDatabase()
  await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET timezone to 'Asia/Kolkata'`)
  await migrate({ url, service: 'gateway' })
})

const opened: GatewayDatabase[] = []
function open(options: Partial<OpenOptions> = {}) {
  const database = openGatewayDatabase({ url, ...options })
  opened.push(database)
  return database
}
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()))
})

describe('openGatewayDatabase', () => {
  test('Prisma and the pool share connections', async () => {
    const { prisma, pool } = open({ poolSize: 1 })
    const pid = 'SELECT pg_backend_pid() AS pid'
    const [mine] = await prisma.$queryRawUnsafe<{ pid: number }[]>(pid)
    expect((await pool.query(pid)).rows).toEqual([mine])
    expect(pool.totalCount).toBe(1)
  })

  test('reads bigint as bigint, numeric as string, and timestamps correctly in any server time zone', async () => {
    const { prisma, pool } = open()
    const id = randomUUID()
    await prisma.replica.create({ data: { id, heartbeatAt: new Date('2026-01-02T03:04:05.678Z') } })
    const { rows } = await pool.query(
      `SELECT heartbeat_at, heartbeat_at at time zone 'utc' AS plain, 9007199254740993::bigint AS big, 2::numeric(78) ^ 255 AS huge,
              ARRAY[1, NULL, 9007199254740993]::bigint[] AS bigs, '{}'::bigint[] AS none, count(*) OVER () AS count
         FROM replicas WHERE id = $1`,
      [id],
    )
    const moment = new Date('2026-01-02T03:04:05.678Z')
    expect(rows).toEqual([
      {
        heartbeat_at: moment,
        plain: moment,
        big: 9007199254740993n,
        huge: expect.stringMatching(
          /^57896044618658097711785492504343953926634992332820282019728792003956564819968/,
        ) as string,
        bigs: [1n, null, 9007199254740993n],
        none: [],
        count: 1n,
      },
    ])
    expect((await prisma.replica.findUniqueOrThrow({ where: { id } })).heartbeatAt).toEqual(moment)
    const sent = await pool.query('SELECT $1::bigint AS big, $2::timestamptz AS moment', [
      9007199254740993n,
      moment,
    ])
    expect(sent.rows).toEqual([{ big: 9007199254740993n, moment }])
  })

  test('limits the duration and lock wait of a statement', async () => {
    const { rows } = await open().pool.query(
      `SELECT current_setting('statement_timeout') AS statement,
              current_setting('lock_timeout') AS LOCK,
              current_setting('idle_in_transaction_session_timeout') AS idle`,
    )
    expect(rows).toEqual([{ statement: '15s', lock: '2s', idle: '30s' }])
  })

  test('replaces a connection that breaks while idle or in use', async () => {
    const errors: string[] = []
    const { pool } = open({ poolSize: 2, onError: (error) => errors.push(error.message) })
    const taken = await pool.connect()
    const broken = new Promise((resolve) => taken.once('end', resolve))
    const idleBroken = new Promise((resolve) => pool.once('remove', resolve))
    await pool.query('SELECT 1')
    await query(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate-gateway' AND datname = current_database()`,
    )
    await Promise.all([broken, idleBroken])
    taken.release(true)
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    expect(
      errors.filter((message) => message.includes('terminating connection')).length,
    ).toBeGreaterThanOrEqual(2)
  })

  test('close is idempotent, and later queries fail', async () => {
    const database = openGatewayDatabase({ url })
    await database.prisma.replica.count()
    await Promise.all([database.close(), database.close()])
    await expect(database.pool.query('SELECT 1')).rejects.toThrow('after calling end')
  })

  test('close interrupts a query that does not end in time', async () => {
    const database = openGatewayDatabase({ url })
    const stuck = database.pool.query('SELECT pg_sleep(14)').then(String, String)
    await database.pool.query('SELECT 1')
    const started = performance.now()
    await database.close()
    expect(await stuck).toContain('Connection terminated')
    expect(performance.now() - started).toBeLessThan(4_000)
  })

  test('reports a constraint violation through Prisma and the pool', async () => {
    const { prisma, pool } = open()
    const id = randomUUID()
    await prisma.replica.create({ data: { id } })
    await expect(prisma.replica.create({ data: { id } })).rejects.toMatchObject({ code: 'P2002' })
    const insert = pool.query('INSERT INTO replicas (id) VALUES ($1)', [id])
    await expect(insert).rejects.toThrow(DatabaseError)
  })
})

test('openFacilitatorDatabase opens the facilitator database', async () => {
  const own = await emptyDatabase()
  await migrate({ url: own, service: 'facilitator' })
  const { prisma, close } = openFacilitatorDatabase({ url: own })
  expect(await prisma.user.count()).toBe(0)
  const twice = { email: 'a@example.org', passwordHash: '-' }
  await prisma.user.create({ data: twice })
  await expect(prisma.user.create({ data: twice })).rejects.toThrow(
    FacilitatorPrisma.PrismaClientKnownRequestError,
  )
  await close()
})
