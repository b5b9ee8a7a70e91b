import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { createLogger, type CompletedRequest } from '@tollgate/service'
import { closeAll, closeLater, migratedDatabase, readableLog } from '@tollgate/testing'
import { ALL_USERS } from './metrics-buffer'
import { createMetricsStore } from './store'
import { createHttpMetricsRecorder } from './http-metrics-recorder'

let pool: Pool
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator') })
  closeLater(() => database.close())
  pool = database.pool
})
beforeEach(async () => {
  await pool.query('TRUNCATE http_metrics, client_metrics, settlement_refusals, metric_flushes')
})
afterAll(closeAll)

const day = '2027-05-01'
const answer = (changes: Partial<CompletedRequest> = {}): CompletedRequest => ({
  method: 'GET',
  route: '/api/v1/supported',
  status: 200,
  seconds: 0.01,
  locals: { userId: 7, clientId: 'client_7' },
  ...changes,
})

type RecorderPool = Parameters<typeof createHttpMetricsRecorder>[0]['pool']

function newRecorder(on: RecorderPool = pool, maxKeys?: number) {
  const log = readableLog()
  const logger = createLogger({ service: 'facilitator', level: 'info', stream: log.stream })
  const metricsRecorder = createHttpMetricsRecorder({
    pool: on,
    logger,
    now: () => new Date(`${day}T12:00:00Z`),
    ...(maxKeys === undefined ? {} : { maxKeys }),
  })
  return { ...metricsRecorder, log }
}

/** The real pool. `fault` replaces each query of the pool and each commit, and may call `send` before it throws. */
const faulty = (fault: (send: () => Promise<unknown>) => Promise<unknown>) =>
  ({
    query: (query: string, values?: unknown[]) => fault(() => pool.query(query, values)),
    async connect() {
      const client = await pool.connect()
      const query = (text: string, values?: unknown[]) => {
        const send = () => client.query(text, values)
        return /^commit/i.test(text) ? fault(send) : send()
      }
      return { query, release: (hasFailed: boolean) => client.release(hasFailed) }
    },
  }) as unknown as RecorderPool

const summary = async (userId: number) =>
  (await createMetricsStore(pool).http(userId, { from: day, to: day }, 'all'))[0]?.metrics

const stored = async () => ({
  all: (await summary(ALL_USERS))?.requests ?? 0,
  own: (await summary(7))?.requests ?? 0,
  clients: (await summary(7))?.clients.map(({ requests }) => requests) ?? [],
})
const times = (count: number, work: () => unknown) => Array.from({ length: count }, work)

test('close writes the last counts', async () => {
  const metricsRecorder = newRecorder()
  times(5, () => metricsRecorder.answered(answer()))
  metricsRecorder.answered(answer({ locals: {} }))
  await metricsRecorder.close()
  expect(await stored()).toEqual({ all: 6, own: 5, clients: [5] })
})

test('concurrent replicas add to the same rows', async () => {
  const recorders = times(6, () => newRecorder()) as ReturnType<typeof newRecorder>[]
  for (const metricsRecorder of recorders) {
    metricsRecorder.begin()
    for (const route of ['/a', '/b', '/c', '/d'])
      times(50, () => metricsRecorder.answered(answer({ route, seconds: Math.random() })))
    metricsRecorder.refused({ clientId: 'client_7', network: '', reason: 'invalid_network' })
  }
  await Promise.all(recorders.map((metricsRecorder) => metricsRecorder.close()))
  expect(await stored()).toEqual({ all: 1200, own: 1200, clients: [1200] })
  expect((await summary(7))?.routes.map(({ requests }) => requests)).toEqual([300, 300, 300, 300])
  const { rows } = await pool.query('SELECT count FROM settlement_refusals')
  expect(rows).toEqual([{ count: 6n }])
})

test('a flush whose response was lost is counted once', async () => {
  let lost = 2
  const metricsRecorder = newRecorder(
    faulty(async (send) => {
      const result = await send()
      if (lost-- > 0) throw new Error('the response was lost')
      return result
    }),
  )
  times(5, () => metricsRecorder.answered(answer()))
  lost = 3
  metricsRecorder.begin()
  await metricsRecorder.log.line('metrics flush failed')
  times(2, () => metricsRecorder.answered(answer()))
  await metricsRecorder.log.line('metrics flush recovered')
  await metricsRecorder.close()
  expect(await stored()).toEqual({ all: 7, own: 7, clients: [7] })
})

test('an outage of Postgres loses no counts and is logged once', async () => {
  let isDown = true
  let attempts = 0
  let onThirdFlush = () => {}
  const thirdFlush = new Promise<void>((resolve) => (onThirdFlush = resolve))
  const metricsRecorder = newRecorder(
    faulty(async (send) => {
      if (!isDown) return send()
      if (++attempts === 4) onThirdFlush()
      throw new Error('postgres is down')
    }),
  )
  times(3, () => metricsRecorder.answered(answer()))
  metricsRecorder.begin()
  await thirdFlush
  times(4, () => metricsRecorder.answered(answer()))
  isDown = false
  await metricsRecorder.log.line('metrics flush recovered')
  await metricsRecorder.close()
  expect(
    metricsRecorder.log.lines().filter(({ message }) => message === 'metrics flush failed'),
  ).toHaveLength(1)
  expect(await stored()).toEqual({ all: 7, own: 7, clients: [7] })
})

test('a batch that Postgres rejects is dropped, and later ones are written', async () => {
  const { log, ...metricsRecorder } = newRecorder()
  metricsRecorder.begin()
  metricsRecorder.answered(answer({ route: '/a\u0000b' }))
  expect(await log.line('metrics dropped')).toMatchObject({ level: 'error' })
  times(3, () => metricsRecorder.answered(answer()))
  await metricsRecorder.close()
  expect(await stored()).toEqual({ all: 3, own: 3, clients: [3] })
})

test('the number of keys in memory is bounded, and uncounted requests are logged', async () => {
  const metricsRecorder = newRecorder(pool, 4)
  for (let i = 0; i < 1000; i++) metricsRecorder.answered(answer({ route: `/${i}`, locals: {} }))
  metricsRecorder.answered(answer({ route: '/3', locals: {} }))
  await metricsRecorder.close()
  expect((await summary(ALL_USERS))?.routes).toMatchObject([
    { route: '/3', requests: 2 },
    { route: '/0', requests: 1 },
    { route: '/1', requests: 1 },
    { route: '/2', requests: 1 },
  ])
  expect(await metricsRecorder.log.line('metrics buffer full')).toMatchObject({
    missed: 996,
  })
})

test('nothing is written if nothing was counted', async () => {
  const sent: string[] = []
  const metricsRecorder = newRecorder({
    query: ((query: string, values?: unknown[]) => {
      sent.push(query)
      return pool.query(query, values)
    }) as Pool['query'],
    connect: (() => {
      sent.push('connect')
      return pool.connect()
    }) as Pool['connect'],
  })
  metricsRecorder.begin()
  await metricsRecorder.close()
  expect(sent).toEqual([expect.stringMatching('DELETE FROM metric_flushes')])
})

test('stored percentiles exceed the exact ones by at most 10 %', async () => {
  const shapes = [
    () => 1 + 400 * Math.random(),
    () => 0.6 * 50_000 ** Math.random(),
    () => (Math.random() < 0.97 ? 3 : 20_000),
    () => 12,
  ]
  for (const [i, shape] of shapes.entries()) {
    const route = `/${i}`
    const latencies = times(500 + i, shape) as number[]
    // Two flushes, so that histograms are merged.
    for (const part of [latencies.slice(0, 200), latencies.slice(200)]) {
      const metricsRecorder = newRecorder()
      for (const latency of part) metricsRecorder.answered(answer({ route, seconds: latency / 1000 }))
      await metricsRecorder.close()
    }
    const percentiles = (await summary(ALL_USERS))?.routes.find((one) => one.route === route)?.latency_ms
    const sorted = latencies.toSorted((a, b) => a - b)
    for (const [name, percent] of [
      ['p50', 50],
      ['p90', 90],
      ['p99', 99],
    ] as const) {
      const exact = sorted[Math.ceil((sorted.length * percent) / 100) - 1]!
      expect(percentiles?.[name]).toBeGreaterThanOrEqual(exact * 0.999999)
      expect(percentiles?.[name]).toBeLessThanOrEqual(exact * 1.1)
    }
  }
})
