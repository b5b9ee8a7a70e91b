import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { createLogger, type Answer } from '@tollgate/service'
import { closeAll, closeLater, migratedDatabase, readableLog } from '@tollgate/testing'
import { EVERYBODY } from './counts'
import { createMetricsStore } from './store'
import { createTally } from './tally'

let pool: Pool
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator') })
  closeLater(() => database.close())
  pool = database.pool
})
beforeEach(async () => {
  await pool.query('truncate http_metrics, client_metrics, settlement_refusals, metric_flushes')
})
afterAll(closeAll)

const day = '2027-05-01'
const answer = (changes: Partial<Answer> = {}): Answer => ({
  method: 'GET',
  route: '/api/v1/supported',
  status: 200,
  seconds: 0.01,
  locals: { userId: 7, clientId: 'client_7' },
  ...changes,
})

function tallyOn(of: Pick<Pool, 'query'> = pool, maxKeys?: number) {
  const log = readableLog()
  const logger = createLogger({ service: 'facilitator', level: 'info', stream: log.stream })
  const tally = createTally({
    pool: of as Pool,
    logger,
    now: () => new Date(`${day}T12:00:00Z`),
    ...(maxKeys === undefined ? {} : { maxKeys }),
  })
  return { ...tally, log }
}

/** The real pool, before which stands a `fault` that may throw, or call `send` and throw all the same. */
const faulty = (fault: (send: () => Promise<unknown>) => Promise<unknown>) =>
  ({
    query: (query: unknown, values?: unknown[]) => fault(() => pool.query(query as string, values)),
  }) as unknown as Pick<Pool, 'query'>

const summary = async (userId: number) =>
  (await createMetricsStore(pool).http(userId, { from: day, to: day }, 'all'))[0]?.metrics

const stored = async () => ({
  everybody: (await summary(EVERYBODY))?.requests ?? 0,
  own: (await summary(7))?.requests ?? 0,
  clients: (await summary(7))?.clients.map(({ requests }) => requests) ?? [],
})
const times = (count: number, work: () => unknown) => Array.from({ length: count }, work)

test('what is left is written when the tally is closed', async () => {
  const tally = tallyOn()
  times(5, () => tally.answered(answer()))
  tally.answered(answer({ locals: {} }))
  await tally.close()
  expect(await stored()).toEqual({ everybody: 6, own: 5, clients: [5] })
})

test('replicas that write at the same time add up in the same rows', async () => {
  const tallies = times(6, () => tallyOn()) as ReturnType<typeof tallyOn>[]
  for (const tally of tallies) {
    tally.begin()
    for (const route of ['/a', '/b', '/c', '/d'])
      times(50, () => tally.answered(answer({ route, seconds: Math.random() })))
    tally.refused({ clientId: 'client_7', network: '', reason: 'invalid_network' })
  }
  await Promise.all(tallies.map((tally) => tally.close()))
  expect(await stored()).toEqual({ everybody: 1200, own: 1200, clients: [1200] })
  expect((await summary(7))?.routes.map(({ requests }) => requests)).toEqual([300, 300, 300, 300])
  const { rows } = await pool.query('select count from settlement_refusals')
  expect(rows).toEqual([{ count: 6n }])
})

test('what was written although its answer was lost is not counted twice', async () => {
  let lost = 2
  const tally = tallyOn(
    faulty(async (send) => {
      const answered = await send()
      if (lost-- > 0) throw new Error('the answer was lost')
      return answered
    }),
  )
  times(5, () => tally.answered(answer()))
  lost = 3
  tally.begin()
  await tally.log.line('metrics cannot be written; counting on in memory')
  times(2, () => tally.answered(answer()))
  await tally.log.line('metrics are written again')
  await tally.close()
  expect(await stored()).toEqual({ everybody: 7, own: 7, clients: [7] })
})

test('nothing is lost while Postgres is away, and one line tells of it', async () => {
  let isAway = true
  let attempts = 0
  let third = () => {}
  const triedThrice = new Promise<void>((resolve) => (third = resolve))
  const tally = tallyOn(
    faulty(async (send) => {
      if (!isAway) return send()
      if (++attempts === 4) third()
      throw new Error('postgres is away')
    }),
  )
  times(3, () => tally.answered(answer()))
  tally.begin()
  await triedThrice
  times(4, () => tally.answered(answer()))
  isAway = false
  await tally.log.line('metrics are written again')
  await tally.close()
  expect(tally.log.lines().filter(({ message }) => message.startsWith('metrics cannot'))).toHaveLength(1)
  expect(await stored()).toEqual({ everybody: 7, own: 7, clients: [7] })
})

test('what Postgres does not take is dropped, and all that is counted after it is written', async () => {
  const { log, ...tally } = tallyOn()
  tally.begin()
  tally.answered(answer({ route: '/a\u0000b' }))
  expect(await log.line('metrics that Postgres does not take are dropped')).toMatchObject({ level: 'error' })
  times(3, () => tally.answered(answer()))
  await tally.close()
  expect(await stored()).toEqual({ everybody: 3, own: 3, clients: [3] })
})

test('what is held in memory is bounded; what is known is counted on, and what is missing is told', async () => {
  const tally = tallyOn(pool, 4)
  for (let i = 0; i < 1000; i++) tally.answered(answer({ route: `/${i}`, locals: {} }))
  tally.answered(answer({ route: '/3', locals: {} }))
  await tally.close()
  expect((await summary(EVERYBODY))?.routes).toMatchObject([
    { route: '/3', requests: 2 },
    { route: '/0', requests: 1 },
    { route: '/1', requests: 1 },
    { route: '/2', requests: 1 },
  ])
  expect(await tally.log.line('more was to be counted than is held in memory; it is missing')).toMatchObject({
    missed: 996,
  })
})

test('nothing is written where nothing was counted', async () => {
  const sent: unknown[] = []
  const tally = tallyOn({
    query: ((query: unknown, values?: unknown[]) => {
      sent.push(query)
      return pool.query(query as string, values)
    }) as Pool['query'],
  })
  tally.begin()
  await tally.close()
  expect(sent).toEqual([expect.stringMatching('DELETE FROM metric_flushes')])
})

test('percentiles of whatever was counted are what they were, or a tenth more at most', async () => {
  const shapes = [
    () => 1 + 400 * Math.random(),
    () => 0.6 * 50_000 ** Math.random(),
    () => (Math.random() < 0.97 ? 3 : 20_000),
    () => 12,
  ]
  for (const [i, shape] of shapes.entries()) {
    const route = `/${i}`
    const latencies = times(500 + i, shape) as number[]
    // Written in several parts, as it would be: histograms are added to one another.
    for (const part of [latencies.slice(0, 200), latencies.slice(200)]) {
      const tally = tallyOn()
      for (const latency of part) tally.answered(answer({ route, seconds: latency / 1000 }))
      await tally.close()
    }
    const told = (await summary(EVERYBODY))?.routes.find((one) => one.route === route)?.latency_ms
    const sorted = latencies.toSorted((a, b) => a - b)
    for (const [name, percent] of [
      ['p50', 50],
      ['p90', 90],
      ['p99', 99],
    ] as const) {
      const exact = sorted[Math.ceil((sorted.length * percent) / 100) - 1]!
      expect(told?.[name]).toBeGreaterThanOrEqual(exact * 0.999999)
      expect(told?.[name]).toBeLessThanOrEqual(exact * 1.1)
    }
  }
})
