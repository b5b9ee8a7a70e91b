import { openFacilitatorDatabase } from '@tollgate/database'
import { type HttpMetrics, type SettlementMetrics } from '@tollgate/protocol'
import { closeAll, closeLater, migratedDatabase, readableLog } from '@tollgate/testing'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'
import { callRpc, newPayer, newSigner, ownChain, sharedChain } from '../testing/chain'
import {
  newClient,
  newUser,
  testFacilitator,
  type ClientHeaders,
  type TestFacilitator,
} from '../testing/facilitator'

const rpcUrl = sharedChain()
const http = ['/metrics/daily', '/metrics/monthly', '/metrics/summary']
const settled = ['/x402-metrics/daily', '/x402-metrics/monthly', '/x402-metrics/summary']
const paths = [...http, ...settled]

/** The clock of a facilitator, set by hand; it stands still. */
let at = new Date('2027-03-10T12:00:00Z')
const setClock = (time: string) => (at = new Date(time))

let facilitator: TestFacilitator
beforeAll(async () => {
  const signer = await newSigner(rpcUrl)
  facilitator = await testFacilitator({ rpcUrl, signerKeys: [signer.privateKey], now: () => at })
})
afterAll(closeAll)

type Reader = { email: string; password: string }
type Of = Pick<TestFacilitator, 'api'>

const login = async ({ email, password }: Reader, { api }: Of = facilitator) => {
  const answer = await api.post('/api/v1/login').send({ email, password }).expect(200)
  return { Authorization: `Bearer ${(answer.body as { data: { access_token: string } }).data.access_token}` }
}
const ask = async (headers: object, path: string, query: object = {}, { api }: Of = facilitator) =>
  api
    .get(`/api/v1${path}`)
    .set({ ...headers })
    .query(query)
const read = async <T>(headers: object, path: string, query: object = {}, of: Of = facilitator) =>
  ((await ask(headers, path, query, of)).body as { data: T }).data

/** Asks until it is so: what was counted is written within the second. */
async function until<T>(work: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await work()
    if (isSo(value)) return value
    if (Date.now() > deadline) throw new Error(`still not so: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** A user with a client key, as they come to a facilitator; their requests until then are on today's books. */
async function newShop({ api }: Of = facilitator) {
  const user = await newUser(api)
  const { client, headers } = await newKey(user.accessToken, { api })
  return { user, client, headers, bearer: { Authorization: `Bearer ${user.accessToken}` } }
}
async function newKey(accessToken: string, { api }: Of = facilitator) {
  const answer = await api
    .post('/api/v1/clients')
    .set('Authorization', `Bearer ${accessToken}`)
    .send({ title: 'Shop' })
    .expect(200)
  const { client } = (answer.body as { data: { client: { clientId: string; token: string } } }).data
  const headers: ClientHeaders = { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
  return { client: client.clientId, headers }
}
const supported = (headers: object, status = 200) =>
  facilitator.api
    .get('/api/v1/supported')
    .set({ ...headers })
    .expect(status)
const makeAdmin = ({ email }: Reader, { database }: Pick<TestFacilitator, 'database'> = facilitator) =>
  database.prisma.user.update({ where: { email }, data: { isAdmin: true } })

type HttpDay = HttpMetrics & { day: string }

describe('4. GET /metrics/daily, /metrics/monthly, /metrics/summary', () => {
  test('HTTP request metrics by day: requests by route, status and client, with latency percentiles', async () => {
    setClock('2027-03-10T12:00:00Z')
    const shop = await newShop()
    for (let i = 0; i < 2; i++) await supported(shop.headers)
    // Routes are told by their pattern, whatever letter case a path came in.
    await facilitator.api.get('/API/v1/Supported/?a=b').set(shop.headers).expect(200)
    for (let i = 0; i < 2; i++)
      await facilitator.api.post('/api/v1/verify').set(shop.headers).send({}).expect(400)
    await supported({ ...shop.headers, 'X-Client-Token': 'wrong' }, 401)

    setClock('2027-03-20T12:00:00Z')
    const bearer = await login(shop.user)
    const query = { from: '2027-03-10', to: '2027-03-10' }
    const days = await until(
      () => read<HttpDay[]>(bearer, '/metrics/daily', query),
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
      clients: [{ client_id: shop.client, requests: 5, latency_ms }],
    }
    expect(days).toEqual([{ day: '2027-03-10', ...whole }])
    expect(await read(bearer, '/metrics/monthly', query)).toEqual([{ month: '2027-03', ...whole }])
    expect(await read(bearer, '/metrics/summary', query)).toEqual(whole)
  })

  test('days and months are of UTC, over new year and in leap years; only those with requests, oldest first', async () => {
    setClock('2027-12-31T23:59:00Z')
    const shop = await newShop()
    const times = [
      ...['2027-12-31T23:59:59.999Z', '2028-01-01T00:00:00.000Z', '2028-01-01T00:00:00.001Z'],
      ...['2028-02-28T23:59:59.999Z', '2028-02-29T00:00:00.000Z', '2028-02-29T23:59:59.999Z'],
      '2028-03-01T00:00:00.000Z',
    ]
    for (const time of times) {
      setClock(time)
      await supported(shop.headers)
    }
    setClock('2028-03-15T12:00:00Z')
    const bearer = await login(shop.user)
    const counts = async (path: string, query: object) =>
      (
        await read<{ day?: string; month?: string; clients: { requests: number }[] }[]>(bearer, path, query)
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
      (await read<HttpMetrics>(bearer, '/metrics/summary', query)).clients[0]?.requests
    expect(await of({})).toBe(7)
    expect(await of({ to: '2028-02-28' })).toBe(4)
    expect(await of({ from: '2028-02-29' })).toBe(3)
  })

  test('without from and to: the last 30 days, the last 12 months, all time', async () => {
    setClock('2029-01-01T00:30:00Z')
    const shop = await newShop()
    for (const time of [
      ...['2030-02-28T23:59:59Z', '2030-03-01T00:00:00Z'],
      ...['2031-01-01T23:59:59Z', '2031-01-02T00:00:00Z', '2031-01-31T12:00:00Z'],
    ]) {
      setClock(time)
      await supported(shop.headers)
    }
    const bearer = await login(shop.user)
    const clientRequests = ({ clients }: HttpMetrics) => clients[0]?.requests
    await until(
      () => read<HttpMetrics>(bearer, '/metrics/summary'),
      (all) => clientRequests(all) === 5,
    )
    const days = await read<HttpDay[]>(bearer, '/metrics/daily')
    expect(days.map(({ day }) => day)).toEqual(['2031-01-02', '2031-01-31'])
    // With a last day only, they are those that end with it.
    const earlier = await read<HttpDay[]>(bearer, '/metrics/daily', { to: '2031-01-30' })
    expect(earlier.map(({ day }) => day)).toEqual(['2031-01-01', '2031-01-02'])
    setClock('2031-02-15T12:00:00Z')
    const months = await read<(HttpMetrics & { month: string })[]>(await login(shop.user), '/metrics/monthly')
    expect(months.filter((month) => clientRequests(month)).map(({ month }) => month)).toEqual([
      '2030-03',
      '2031-01',
    ])
  })

  test('own data for users, deleted keys included; for admins all, and who nobody is', async () => {
    setClock('2032-05-05T12:00:00Z')
    const [ada, bob, root] = [await newShop(), await newShop(), await newUser(facilitator.api)]
    await makeAdmin(root)
    setClock('2032-05-06T12:00:00Z')
    const other = await newKey((await login(ada.user)).Authorization.slice('Bearer '.length))
    for (let i = 0; i < 4; i++) await supported(ada.headers)
    for (let i = 0; i < 2; i++) await supported(other.headers)
    await supported(bob.headers)
    await supported({}, 401)
    await facilitator.api.get('/nowhere').expect(404)
    await facilitator.api
      .delete(`/api/v1/clients/${ada.client}`)
      .set(await login(ada.user))
      .expect(200)

    setClock('2032-05-07T12:00:00Z')
    const query = { from: '2032-05-06', to: '2032-05-06' }
    const clientsOf = async (user: Reader) => {
      const { clients } = await read<HttpMetrics>(await login(user), '/metrics/summary', query)
      return clients.map(({ client_id, requests }) => [client_id, requests])
    }
    const all = await until(
      async () => read<HttpMetrics>(await login(root), '/metrics/summary', query),
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
    const own = await read<HttpMetrics>(await login(ada.user), '/metrics/summary', query)
    expect(own.routes.map(({ route, requests }) => [route, requests])).toEqual([
      ['/api/v1/supported', 6],
      ['/api/v1/clients/:id', 1],
      ['/api/v1/clients', 1],
    ])
  })

  test('a request whose caller left while being told apart counts as 499, for the user of its token', async () => {
    const log = readableLog()
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const here = await testFacilitator({ rpcUrl, signerKeys, log: log.stream })
    const { accessToken } = await newUser(here.api)
    const { pool } = here.database
    const holder = await pool.connect()
    try {
      await holder.query('begin')
      await holder.query('lock table users in access exclusive mode')
      const leaving = new AbortController()
      const asked = fetch(`${here.url}/api/v1/clients`, {
        headers: { Authorization: `Bearer ${accessToken}`, 'X-Request-Id': 'left' },
        signal: leaving.signal,
      })
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until(
        () => pool.query(waiting),
        ({ rows }) => rows.length > 0,
      )
      leaving.abort()
      await expect(asked).rejects.toThrow()
      await until(
        () => Promise.resolve(log.lines()),
        (lines) => lines.some(({ requestId, status }) => requestId === 'left' && status === 499),
      )
    } finally {
      await holder.query('rollback')
      holder.release()
    }
    const headers = { Authorization: `Bearer ${accessToken}` }
    const { statuses } = await until(
      () => read<HttpMetrics>(headers, '/metrics/summary', {}, here),
      ({ routes }) => routes.length > 0,
    )
    expect(statuses).toContainEqual({ status: 499, requests: 1 })
  })

  test('with nothing to tell: no days, no months, and a summary of nothing', async () => {
    const user = await newUser(facilitator.api)
    const headers = { Authorization: `Bearer ${user.accessToken}` }
    const query = { from: '2020-01-01', to: '2020-01-31' }
    expect(await read(headers, '/metrics/daily', query)).toEqual([])
    expect(await read(headers, '/metrics/monthly', query)).toEqual([])
    expect(await read(headers, '/metrics/summary', query)).toEqual({
      requests: 0,
      latency_ms: { p50: 0, p90: 0, p99: 0 },
      routes: [],
      statuses: [],
      clients: [],
    })
    const nothing = { settled: 0, failed: 0, reversed: 0, amounts: [], fees: [], networks: [], failures: [] }
    expect(await read(headers, '/x402-metrics/daily', query)).toEqual([])
    expect(await read(headers, '/x402-metrics/monthly', query)).toEqual([])
    expect(await read(headers, '/x402-metrics/summary', query)).toEqual(nothing)
  })
})

describe.each(paths)('4. GET %s', (path) => {
  const long = path.endsWith('daily')
    ? { from: '2027-02-01', to: '2028-02-01', over: { from: '2027-01-31', to: '2028-02-01' } }
    : path.endsWith('monthly')
      ? { from: '2020-01-31', to: '2029-12-01', over: { from: '2020-01-31', to: '2030-01-01' } }
      : { from: '0001-01-01', to: '9999-12-31', over: undefined }

  test('auth | bearer user token: 401 UNAUTHORIZED without one, and with a client key', async () => {
    const client = await newClient(facilitator.api)
    for (const headers of [{}, client, { Authorization: 'Bearer nonsense' }]) {
      const answer = await ask(headers, path)
      expect([answer.status, (answer.body as { code: string }).code]).toEqual([401, 'UNAUTHORIZED'])
    }
  })

  test('query | from, to | ISO 8601 dates, of the calendar, in order, each once: otherwise 400 INVALID_REQUEST', async () => {
    const { accessToken } = await newUser(facilitator.api)
    const headers = { Authorization: `Bearer ${accessToken}` }
    const days = [
      ...[
        '',
        ' ',
        'yesterday',
        '2027',
        '2027-02',
        '2027-2-1',
        '20270201',
        '2027-02-01T00:00:00Z',
        ' 2027-02-01',
      ],
      ...['2027-02-29', '2100-02-29', '2027-13-01', '2027-00-01', '2027-01-00', '2027-04-31', '0000-01-01'],
      ...['+2027-02-01', '-2027-02-01', '12027-02-01', '２０２７-02-01', "2027-02-01'--", '2027-02-01\u0000'],
    ]
    const queries = [
      ...days.flatMap((day) => [{ from: day }, { to: day }]),
      { from: ['2027-02-01', '2027-02-01'] },
      { to: ['2027-02-01', '2027-02-02'] },
      { from: '2027-02-02', to: '2027-02-01' },
      { from: '9999-01-01', ...(path.endsWith('summary') ? { to: '9998-01-01' } : {}) },
      ...(long.over ? [long.over] : []),
    ]
    for (const query of queries) {
      const answer = await ask(headers, path, query)
      const { code, message } = answer.body as { code: string; message: string }
      expect([query, answer.status, code]).toEqual([query, 400, 'INVALID_REQUEST'])
      expect(message).toMatch(/\b(from|to)\b/)
    }
  })

  test('query | the longest range there may be', async () => {
    const { accessToken } = await newUser(facilitator.api)
    const { from, to } = long
    const answer = await ask({ Authorization: `Bearer ${accessToken}` }, path, { from, to })
    expect(answer.status).toBe(200)
  })
})

describe('4. GET /x402-metrics/daily, /x402-metrics/monthly, /x402-metrics/summary', () => {
  /** All of these happens then, so that no test begins on one day and ends on the next. */
  const moment = new Date()
  const today = moment.toISOString().slice(0, 10)
  const atMoment = async (options: { rpcUrl: string; signerKeys: string[]; databaseUrl?: string }) =>
    testFacilitator({ ...options, now: () => moment })
  /** The database takes its own time for what is settled. */
  const settledThen = async ({ database }: TestFacilitator) =>
    database.pool.query(`update settlements set settled_at = $1 where status = 'settled'`, [moment])

  const settle = async ({ api }: Of, headers: object, body: PaymentRequest) =>
    (
      await api
        .post('/api/v1/settle')
        .set({ ...headers })
        .send(body)
        .expect(200)
    ).body as {
      success: boolean
      transaction: string
      errorReason: string
    }

  /** What the chain says that a transaction cost. */
  async function feeOf(transaction: string): Promise<bigint> {
    const receipt = await callRpc(rpcUrl, 'eth_getTransactionReceipt', transaction)
    const { gasUsed, effectiveGasPrice } = receipt as { gasUsed: string; effectiveGasPrice: string }
    return BigInt(gasUsed) * BigInt(effectiveGasPrice)
  }

  test('settlement metrics (amounts, fees, networks), failures by reason; own for users, all for admins', async () => {
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const here = await atMoment({ rpcUrl, signerKeys })
    const [shop, other, root] = [await newShop(here), await newShop(here), await newUser(here.api)]
    await makeAdmin(root, here)
    const payer = await newPayer(rpcUrl)
    const bodies = [await paymentRequest(payer), await paymentRequest(payer), await paymentRequest(payer)]
    const results = []
    for (const body of bodies) results.push(await settle(here, shop.headers, body))
    results.push(await settle(here, other.headers, await paymentRequest(payer)))
    expect(results.map(({ success }) => success)).toEqual([true, true, true, true])
    await settledThen(here)

    // Refused before anything is claimed: by the chain, as a duplicate of one's own and of another's, and by the request.
    const poor = await newPayer(rpcUrl, 0n)
    expect(await settle(here, shop.headers, await paymentRequest(poor))).toMatchObject({
      errorReason: 'insufficient_funds',
    })
    for (const headers of [shop.headers, shop.headers, other.headers])
      expect(await settle(here, headers, bodies[0]!)).toMatchObject({ errorReason: 'duplicate_settlement' })
    const foreign = await paymentRequest(payer, { requirements: { network: 'nowhere' } })
    expect(await settle(here, shop.headers, foreign)).toMatchObject({ errorReason: 'invalid_network' })

    const fees = await Promise.all(results.map(({ transaction }) => feeOf(transaction)))
    const sum = (of: bigint[]) => of.reduce((total, fee) => total + fee, 0n).toString()
    const asset = bodies[0]!.paymentRequirements.asset
    const usdc = { network: 'base-sepolia', asset, symbol: 'USDC', decimals: 6 }
    const own: SettlementMetrics = {
      settled: 3,
      failed: 4,
      reversed: 0,
      amounts: [{ ...usdc, settled: 3, amount: (3n * AMOUNT).toString() }],
      fees: [{ network: 'base-sepolia', transactions: 3, amount: sum(fees.slice(0, 3)) }],
      networks: [{ network: 'base-sepolia', settled: 3, failed: 3, reversed: 0 }],
      failures: [
        { reason: 'duplicate_settlement', failed: 2 },
        { reason: 'insufficient_funds', failed: 1 },
        { reason: 'invalid_network', failed: 1 },
      ],
    }
    const seen = await until(
      () => read<SettlementMetrics>(shop.bearer, '/x402-metrics/summary', {}, here),
      ({ failed }) => failed === 4,
    )
    expect(seen).toEqual(own)
    const [days, months] = [
      await read(shop.bearer, '/x402-metrics/daily', {}, here),
      await read(shop.bearer, '/x402-metrics/monthly', {}, here),
    ]
    expect(days).toEqual([{ day: today, ...own }])
    expect(months).toEqual([{ month: today.slice(0, 7), ...own }])

    const all = await until(
      async () => read<SettlementMetrics>(await login(root, here), '/x402-metrics/summary', {}, here),
      ({ failed }) => failed === 5,
    )
    expect(all).toMatchObject({
      settled: 4,
      amounts: [{ ...usdc, settled: 4, amount: (4n * AMOUNT).toString() }],
      fees: [{ network: 'base-sepolia', transactions: 4, amount: sum(fees) }],
    })
    const others = await read<SettlementMetrics>(other.bearer, '/x402-metrics/summary', {}, here)
    expect([others.settled, others.failures]).toEqual([1, [{ reason: 'duplicate_settlement', failed: 1 }]])
    // Whose key was deleted keeps what was settled with it.
    await here.api.delete(`/api/v1/clients/${other.client}`).set(other.bearer).expect(200)
    expect(await read(other.bearer, '/x402-metrics/summary', {}, here)).toEqual(others)
  })

  test('payments of two users, over two days, in one transaction: their fees add up to what it cost', async () => {
    const signer = await newSigner(rpcUrl)
    const databaseUrl = await migratedDatabase('facilitator')
    // While somebody else owns the signer payments wait for each other, and then go together.
    const owner = openFacilitatorDatabase({ url: databaseUrl, poolSize: 1 })
    closeLater(() => owner.close())
    const lane = `settler eip155:84532 ${signer.address}`
    await owner.pool.query('select pg_advisory_lock(hashtextextended($1, 0))', [lane])

    const here = await atMoment({ rpcUrl, signerKeys: [signer.privateKey], databaseUrl })
    const [shop, other, root] = [await newShop(here), await newShop(here), await newUser(here.api)]
    await makeAdmin(root, here)
    const { pool } = here.database
    const settling = await Promise.all(
      [shop, shop, other].map(async ({ headers }) => ({
        headers,
        body: await paymentRequest(await newPayer(rpcUrl)),
      })),
    )
    const answers = Promise.all(settling.map(({ headers, body }) => settle(here, headers, body)))
    await until(
      () => pool.query('select from settlements'),
      ({ rowCount }) => rowCount === 3,
    )
    await owner.close()
    const results = await answers
    expect(results.map(({ success }) => success)).toEqual([true, true, true])
    const [transaction, ...more] = new Set(results.map((result) => result.transaction))
    expect(more).toEqual([])
    await settledThen(here)
    await pool.query(
      `update settlements set settled_at = settled_at - interval '1 day'
       where id = (select min(id) from settlements where client_id = $1)`,
      [shop.client],
    )

    const fee = await feeOf(transaction!)
    const feesOf = async (headers: object, path = '/x402-metrics/daily') => {
      const found = await read<SettlementMetrics[]>(headers, path, {}, here)
      return found.flatMap(({ fees }) => fees)
    }
    const [ofShop, ofOther, ofAll] = [
      await feesOf(shop.bearer),
      await feesOf(other.bearer),
      await feesOf(await login(root, here)),
    ]
    const sum = (fees: SettlementMetrics['fees']) =>
      fees.reduce((total, { amount }) => total + BigInt(amount), 0n)
    expect([ofShop.length, ofOther.length, ofAll.length]).toEqual([2, 1, 2])
    expect(sum(ofShop) + sum(ofOther)).toBe(fee)
    expect(sum(ofAll)).toBe(fee)
    for (const { amount, transactions } of [...ofShop, ...ofOther]) {
      expect(transactions).toBe(1)
      expect(BigInt(amount) - fee / 3n).toBeLessThanOrEqual(1n)
    }
    const summary = await read<SettlementMetrics>(await login(root, here), '/x402-metrics/summary', {}, here)
    expect(summary.fees).toEqual([{ network: 'base-sepolia', transactions: 1, amount: fee.toString() }])
  })

  test('days are of UTC and of the end; failed and reversed do not count as settled; amounts of 78 digits are exact', async () => {
    const here = await atMoment({ rpcUrl, signerKeys: [(await newSigner(rpcUrl)).privateKey] })
    const shop = await newShop(here)
    const payer = await newPayer(rpcUrl)
    for (let i = 0; i < 5; i++)
      expect(await settle(here, shop.headers, await paymentRequest(payer))).toMatchObject({ success: true })
    const { rows } = await here.database.pool.query<{ id: bigint }>('select id from settlements order by id')
    const become = (index: number, changes: string) =>
      here.database.pool.query(`update settlements set ${changes} where id = $1`, [rows[index]!.id])
    const largest = '9'.repeat(78)
    await become(0, `settled_at = '2024-02-29T23:59:59.999Z', amount = ${largest}`)
    await become(1, `settled_at = '2024-02-29T00:00:00Z', amount = ${largest}`)
    await become(2, `settled_at = '2024-03-01T00:00:00Z', status = 'reversed'`)
    await become(
      3,
      `settled_at = null, handed_out_at = null, updated_at = '2024-03-01T00:00:00Z', status = 'failed',
        error_reason = 'payment_expired'`,
    )
    await become(4, `settled_at = '2024-02-28T23:59:59.999Z'`)

    const query = { from: '2024-02-29', to: '2024-03-01' }
    const days = await read<(SettlementMetrics & { day: string })[]>(
      shop.bearer,
      '/x402-metrics/daily',
      query,
      here,
    )
    expect(days.map(({ day, settled, failed, reversed }) => [day, settled, failed, reversed])).toEqual([
      ['2024-02-29', 2, 0, 0],
      ['2024-03-01', 0, 1, 1],
    ])
    expect(
      await read(shop.bearer, '/x402-metrics/summary', { from: '2024-02-29', to: '2024-02-29' }, here),
    ).toMatchObject({ settled: 2, failed: 0, reversed: 0 })
    const amount = (2n * BigInt(largest)).toString()
    expect(days[0]?.amounts).toMatchObject([{ settled: 2, amount }])
    expect(days[1]).toMatchObject({
      amounts: [],
      fees: [{ transactions: 2 }],
      networks: [{ network: 'base-sepolia', settled: 0, failed: 1, reversed: 1 }],
      failures: [{ reason: 'payment_expired', failed: 1 }],
    })
    const months = await read<(SettlementMetrics & { month: string })[]>(
      shop.bearer,
      '/x402-metrics/monthly',
      query,
      here,
    )
    expect(months.map(({ month, settled }) => [month, settled])).toEqual([
      ['2024-02', 2],
      ['2024-03', 0],
    ])
    expect(await read(shop.bearer, '/x402-metrics/summary', {}, here)).toMatchObject({
      settled: 3,
      failed: 1,
      reversed: 1,
    })
  })

  test('a settlement that is pending is no failure, and counts once when it is settled', async () => {
    const chain = await ownChain({ blockTime: 3_600 })
    const signer = await newSigner(chain.rpcUrl)
    const here = await atMoment({ rpcUrl: chain.rpcUrl, signerKeys: [signer.privateKey] })
    const shop = await newShop(here)
    const body = await paymentRequest(await newPayer(chain.rpcUrl), {
      requirements: { maxTimeoutSeconds: 1 },
    })
    expect(await settle(here, shop.headers, body)).toMatchObject({ errorReason: 'settlement_pending' })
    const summary = () => read<SettlementMetrics>(shop.bearer, '/x402-metrics/summary', {}, here)
    // By the time that a refusal of later is told, one of this would have been.
    const foreign = await paymentRequest(await newPayer(chain.rpcUrl), {
      requirements: { network: 'nowhere' },
    })
    await settle(here, shop.headers, foreign)
    const seen = await until(summary, ({ failed }) => failed > 0)
    expect(seen).toMatchObject({ settled: 0, failures: [{ reason: 'invalid_network', failed: 1 }] })

    await callRpc(chain.rpcUrl, 'anvil_mine', '0x2')
    expect(await until(summary, ({ settled }) => settled > 0)).toMatchObject({ settled: 1, failed: 1 })
  })

  test('a claim that failed and was claimed anew counts as both', async () => {
    const here = await atMoment({ rpcUrl, signerKeys: [(await newSigner(rpcUrl)).privateKey] })
    const shop = await newShop(here)
    const body = await paymentRequest(await newPayer(rpcUrl))
    expect(await settle(here, shop.headers, body)).toMatchObject({ success: true })
    // As if it had failed before anything was signed for it, and had never been sent.
    await here.database.pool.query(
      `update settlements set status = 'failed', error_reason = 'insufficient_funds', transaction_id = null,
         transaction_hash = null, settled_at = null, handed_out_at = null, updated_at = '2026-01-31T12:00:00Z'`,
    )
    // The chain has it all the same, so that it is settled at once.
    expect(await settle(here, shop.headers, body)).toMatchObject({ success: true })
    await settledThen(here)
    const query = { from: '2026-01-31', to: today }
    const months = await until(
      () =>
        read<(SettlementMetrics & { month: string })[]>(shop.bearer, '/x402-metrics/monthly', query, here),
      (found) => found.length === 2,
    )
    expect(months.map(({ month, settled, failures }) => [month, settled, failures])).toEqual([
      ['2026-01', 0, [{ reason: 'insufficient_funds', failed: 1 }]],
      [today.slice(0, 7), 1, []],
    ])
  })
})
