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
  await query(url, `alter database ${new URL(url).pathname.slice(1)} set timezone to 'Asia/Kolkata'`)
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
  test('gives Prisma and hot SQL the same connections', async () => {
    const { prisma, pool } = open({ poolSize: 1 })
    const pid = 'select pg_backend_pid() as pid'
    const [mine] = await prisma.$queryRawUnsafe<{ pid: number }[]>(pid)
    expect((await pool.query(pid)).rows).toEqual([mine])
    expect(pool.totalCount).toBe(1)
  })

  test('reads bigint as bigint, numeric as string, and times as the moment they are, whatever the zone of the server', async () => {
    const { prisma, pool } = open()
    const id = randomUUID()
    await prisma.replica.create({ data: { id, heartbeatAt: new Date('2026-01-02T03:04:05.678Z') } })
    const { rows } = await pool.query(
      `select heartbeat_at, heartbeat_at at time zone 'utc' as plain, 9007199254740993::bigint as big, 2::numeric(78) ^ 255 as huge,
              array[1, null, 9007199254740993]::bigint[] as bigs, '{}'::bigint[] as none, count(*) over () as count
         from replicas where id = $1`,
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
    const sent = await pool.query('select $1::bigint as big, $2::timestamptz as moment', [
      9007199254740993n,
      moment,
    ])
    expect(sent.rows).toEqual([{ big: 9007199254740993n, moment }])
  })

  test('lets no statement run or wait for ever', async () => {
    const { rows } = await open().pool.query(
      `select current_setting('statement_timeout') as statement,
              current_setting('lock_timeout') as lock,
              current_setting('idle_in_transaction_session_timeout') as idle`,
    )
    expect(rows).toEqual([{ statement: '15s', lock: '2s', idle: '30s' }])
  })

  test('outlives a connection that breaks while idle and one that breaks while taken', async () => {
    const told: string[] = []
    const { pool } = open({ poolSize: 2, onError: (error) => told.push(error.message) })
    const taken = await pool.connect()
    const broken = new Promise((resolve) => taken.once('end', resolve))
    const idleBroken = new Promise((resolve) => pool.once('remove', resolve))
    await pool.query('select 1')
    await query(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tollgate-gateway' and datname = current_database()`,
    )
    await Promise.all([broken, idleBroken])
    taken.release(true)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(
      told.filter((message) => message.includes('terminating connection')).length,
    ).toBeGreaterThanOrEqual(2)
  })

  test('closes once, however often it is told, and then refuses', async () => {
    const database = openGatewayDatabase({ url })
    await database.prisma.replica.count()
    await Promise.all([database.close(), database.close()])
    await expect(database.pool.query('select 1')).rejects.toThrow('after calling end')
  })

  test('cuts work that does not end when it is closed', async () => {
    const database = openGatewayDatabase({ url })
    const stuck = database.pool.query('select pg_sleep(14)').then(String, String)
    await database.pool.query('select 1')
    const started = performance.now()
    await database.close()
    expect(await stuck).toContain('Connection terminated')
    expect(performance.now() - started).toBeLessThan(4_000)
  })

  test('tells a broken rule of the database as such, through either door', async () => {
    const { prisma, pool } = open()
    const id = randomUUID()
    await prisma.replica.create({ data: { id } })
    await expect(prisma.replica.create({ data: { id } })).rejects.toMatchObject({ code: 'P2002' })
    const insert = pool.query('insert into replicas (id) values ($1)', [id])
    await expect(insert).rejects.toThrow(DatabaseError)
  })
})

test('openFacilitatorDatabase opens the other one', async () => {
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
