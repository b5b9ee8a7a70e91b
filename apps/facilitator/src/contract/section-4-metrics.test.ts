import { type HttpMetrics } from '@tollgate/protocol'
import { closeAll, readableLog } from '@tollgate/testing'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { metricsOf, until } from '../testing/metrics'

let at = new Date('2027-03-10T12:00:00Z')
const setClock = (time: string) => (at = new Date(time))

let facilitator: TestFacilitator
let metrics: ReturnType<typeof metricsOf>
beforeAll(async () => {
  facilitator = await testFacilitator({ now: () => at })
  metrics = metricsOf(facilitator)
})
afterAll(closeAll)

type Credentials = { email: string; password: string }
type HttpDay = HttpMetrics & { day: string }

const supported = (headers: object, status = 200) =>
  facilitator.api
    .get('/api/v1/supported')
    .set({ ...headers })
    .expect(status)

describe('4. GET /metrics/daily, /metrics/monthly, /metrics/summary', () => {
  test('HTTP request metrics by day: requests by route, status and client, with latency percentiles', async () => {
    setClock('2027-03-10T12:00:00Z')
    const merchant = await metrics.newMerchant()
    for (let i = 0; i < 2; i++) await supported(merchant.headers)
    // Metrics name the route pattern, not the path.
    await facilitator.api.get('/API/v1/Supported/?a=b').set(merchant.headers).expect(200)
    for (let i = 0; i < 2; i++)
      await facilitator.api.post('/api/v1/verify').set(merchant.headers).send({}).expect(400)
    await supported({ ...merchant.headers, 'X-Client-Token': 'wrong' }, 401)

    setClock('2027-03-20T12:00:00Z')
    const bearer = await metrics.login(merchant.user)
    const query = { from: '2027-03-10', to: '2027-03-10' }
    const days = await until(
      () => metrics.read<HttpDay[]>(bearer, '/metrics/daily', query),
      ([day]) => day?.requests === 6,
    )
    const latency_ms = { p50: 0.5, p90: 0.5, p99: 0.5 }
    const whole: HttpMetrics = {
      requests: 6,
      latency_ms,
      routes: [
        { method: 'GET', route: '/api/v1/supported', requests: 3, latency_ms },
        { method: 'POST', route: '/api/v1/verify', requests: 2, latency_ms },
        { method: 'POST', route: '/api/v1/clients', requests: 1, latency_ms },
      ],
      statuses: [
        { status: 200, requests: 4 },
        { status: 400, requests: 2 },
      ],
      clients: [{ client_id: merchant.client, requests: 5, latency_ms }],
    }
    expect(days).toEqual([{ day: '2027-03-10', ...whole }])
    expect(await metrics.read(bearer, '/metrics/monthly', query)).toEqual([{ month: '2027-03', ...whole }])
    expect(await metrics.read(bearer, '/metrics/summary', query)).toEqual(whole)
  })

  test('days and months are of UTC, over new year and in leap years; only those with requests, oldest first', async () => {
    setClock('2027-12-31T23:59:00Z')
    const merchant = await metrics.newMerchant()
    const times = [
      ...['2027-12-31T23:59:59.999Z', '2028-01-01T00:00:00.000Z', '2028-01-01T00:00:00.001Z'],
      ...['2028-02-28T23:59:59.999Z', '2028-02-29T00:00:00.000Z', '2028-02-29T23:59:59.999Z'],
      '2028-03-01T00:00:00.000Z',
    ]
    for (const time of times) {
      setClock(time)
      await supported(merchant.headers)
    }
    setClock('2028-03-15T12:00:00Z')
    const bearer = await metrics.login(merchant.user)
    const counts = async (path: string, query: object) =>
      (
        await metrics.read<{ day?: string; month?: string; clients: { requests: number }[] }[]>(
          bearer,
          path,
          query,
        )
      ).map(({ day, month, clients }) => [day ?? month, clients[0]?.requests])
    const year = { from: '2027-12-31', to: '2028-03-14' }
    await until(
      () => counts('/metrics/daily', year),
      (found) => found.length === 5,
    )
    expect(await counts('/metrics/daily', year)).toEqual([
      ['2027-12-31', 1],
      ['2028-01-01', 2],
      ['2028-02-28', 1],
      ['2028-02-29', 2],
      ['2028-03-01', 1],
    ])
    expect(await counts('/metrics/monthly', year)).toEqual([
      ['2027-12', 1],
      ['2028-01', 2],
      ['2028-02', 3],
      ['2028-03', 1],
    ])
    // Both ends count.
    expect(await counts('/metrics/daily', { from: '2028-01-01', to: '2028-02-29' })).toEqual([
      ['2028-01-01', 2],
      ['2028-02-28', 1],
      ['2028-02-29', 2],
    ])
    expect(await counts('/metrics/monthly', { from: '2028-02-29', to: '2028-03-14' })).toEqual([
      ['2028-02', 2],
      ['2028-03', 1],
    ])
    const of = async (query: object) =>
      (await metrics.read<HttpMetrics>(bearer, '/metrics/summary', query)).clients[0]?.requests
    expect(await of({})).toBe(7)
    expect(await of({ to: '2028-02-28' })).toBe(4)
    expect(await of({ from: '2028-02-29' })).toBe(3)
  })

  test('without from and to: the last 30 days, the last 12 months, all time', async () => {
    setClock('2029-01-01T00:30:00Z')
    const merchant = await metrics.newMerchant()
    for (const time of [
      ...['2030-02-28T23:59:59Z', '2030-03-01T00:00:00Z'],
      ...['2031-01-01T23:59:59Z', '2031-01-02T00:00:00Z', '2031-01-31T12:00:00Z'],
    ]) {
      setClock(time)
      await supported(merchant.headers)
    }
    const bearer = await metrics.login(merchant.user)
    const clientRequests = ({ clients }: HttpMetrics) => clients[0]?.requests
    await until(
      () => metrics.read<HttpMetrics>(bearer, '/metrics/summary'),
      (all) => clientRequests(all) === 5,
    )
    const days = await metrics.read<HttpDay[]>(bearer, '/metrics/daily')
    expect(days.map(({ day }) => day)).toEqual(['2031-01-02', '2031-01-31'])
    // With `to` alone, the default range ends on that day.
    const earlier = await metrics.read<HttpDay[]>(bearer, '/metrics/daily', { to: '2031-01-30' })
    expect(earlier.map(({ day }) => day)).toEqual(['2031-01-01', '2031-01-02'])
    setClock('2031-02-15T12:00:00Z')
    const months = await metrics.read<(HttpMetrics & { month: string })[]>(
      await metrics.login(merchant.user),
      '/metrics/monthly',
    )
    expect(months.filter((month) => clientRequests(month)).map(({ month }) => month)).toEqual([
      '2030-03',
      '2031-01',
    ])
  })

  test('users get their own data with deleted keys; admins get all data', async () => {
    setClock('2032-05-05T12:00:00Z')
    const [ada, bob, root] = [
      await metrics.newMerchant(),
      await metrics.newMerchant(),
      await newUser(facilitator.api),
    ]
    await metrics.makeAdmin(root)
    setClock('2032-05-06T12:00:00Z')
    const other = await metrics.newKey((await metrics.login(ada.user)).Authorization.slice('Bearer '.length))
    for (let i = 0; i < 4; i++) await supported(ada.headers)
    for (let i = 0; i < 2; i++) await supported(other.headers)
    await supported(bob.headers)
    await supported({}, 401)
    await facilitator.api.get('/nowhere').expect(404)
    await facilitator.api
      .delete(`/api/v1/clients/${ada.client}`)
      .set(await metrics.login(ada.user))
      .expect(200)

    setClock('2032-05-07T12:00:00Z')
    const query = { from: '2032-05-06', to: '2032-05-06' }
    const clientsOf = async (user: Credentials) => {
      const { clients } = await metrics.read<HttpMetrics>(
        await metrics.login(user),
        '/metrics/summary',
        query,
      )
      return clients.map(({ client_id, requests }) => [client_id, requests])
    }
    const all = await until(
      async () => metrics.read<HttpMetrics>(await metrics.login(root), '/metrics/summary', query),
      ({ requests }) => requests >= 13,
    )
    expect(await clientsOf(root)).toEqual([
      [ada.client, 4],
      [other.client, 2],
      [bob.client, 1],
    ])
    expect(await clientsOf(ada.user)).toEqual([
      [ada.client, 4],
      [other.client, 2],
    ])
    expect(await clientsOf(bob.user)).toEqual([[bob.client, 1]])

    const requestsTo = (route: string) => all.routes.find((one) => one.route === route)?.requests
    expect([requestsTo('/api/v1/supported'), requestsTo('none'), requestsTo('/api/v1/login')]).toEqual([
      8, 1, 2,
    ])
    expect(all.requests).toBe(13)
    const own = await metrics.read<HttpMetrics>(await metrics.login(ada.user), '/metrics/summary', query)
    expect(own.routes.map(({ route, requests }) => [route, requests])).toEqual([
      ['/api/v1/supported', 6],
      ['/api/v1/clients/:id', 1],
      ['/api/v1/clients', 1],
    ])
  })

  test('a request whose client disconnects during authentication counts as 499, for the user of its token', async () => {
    const log = readableLog()
    const here = await testFacilitator({ log: log.stream })
    const { accessToken } = await newUser(here.api)
    const { pool } = here.database
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('LOCK TABLE users IN access exclusive mode')
      const leaving = new AbortController()
      const aborted = fetch(`${here.url}/api/v1/clients`, {
        headers: { Authorization: `Bearer ${accessToken}`, 'X-Request-Id': 'left' },
        signal: leaving.signal,
      })
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      await until(
        () => pool.query(waiting),
        ({ rows }) => rows.length > 0,
      )
      leaving.abort()
      await expect(aborted).rejects.toThrow()
      await until(
        () => Promise.resolve(log.lines()),
        (lines) => lines.some(({ requestId, status }) => requestId === 'left' && status === 499),
      )
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
    const headers = { Authorization: `Bearer ${accessToken}` }
    const { statuses } = await until(
      () => metricsOf(here).read<HttpMetrics>(headers, '/metrics/summary'),
      ({ routes }) => routes.length > 0,
    )
    expect(statuses).toContainEqual({ status: 499, requests: 1 })
  })

  test('with nothing to tell: no days, no months, and a summary of nothing', async () => {
    const user = await newUser(facilitator.api)
    const headers = { Authorization: `Bearer ${user.accessToken}` }
    const query = { from: '2020-01-01', to: '2020-01-31' }
    expect(await metrics.read(headers, '/metrics/daily', query)).toEqual([])
    expect(await metrics.read(headers, '/metrics/monthly', query)).toEqual([])
    expect(await metrics.read(headers, '/metrics/summary', query)).toEqual({
      requests: 0,
      latency_ms: { p50: 0, p90: 0, p99: 0 },
      routes: [],
      statuses: [],
      clients: [],
    })
    const nothing = {
      settled: 0,
      failed: 0,
      reversed: 0,
      duplicates: 0,
      amounts: [],
      fees: [],
      networks: [],
      failures: [],
    }
    expect(await metrics.read(headers, '/x402-metrics/daily', query)).toEqual([])
    expect(await metrics.read(headers, '/x402-metrics/monthly', query)).toEqual([])
    expect(await metrics.read(headers, '/x402-metrics/summary', query)).toEqual(nothing)
  })
})
