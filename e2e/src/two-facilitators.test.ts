import { fundWallet, USDC_ADDRESS } from '@tollgate/devnet'
import { type HttpMetrics, type SettlementMetrics, type SettleResult } from '@tollgate/protocol'
import { randomBytes } from 'node:crypto'
import { Wallet } from 'ethers'
import { settleRequest, until } from './testing/paying'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'

let world: ObservedWorld
let first: { url: string }
let second: { url: string; pid: () => number | undefined }

beforeAll(async () => {
  world = await startObservedWorld()
  first = world.facilitator
  second = await world.addFacilitator()
}, 120_000)
afterAll(() => world.stop(), 30_000)

type Headers = Record<string, string>
type Account = { email: string; password: string }
type Answer = { status: number; body: unknown }
type RequestOptions = { headers?: Headers; body?: unknown }

async function ask(
  of: { url: string },
  method: string,
  path: string,
  asked: RequestOptions = {},
): Promise<Answer> {
  const answer = await fetch(`${of.url}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...asked.headers },
    ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
  })
  return { status: answer.status, body: await answer.json() }
}
async function data<T>(
  of: { url: string },
  method: string,
  path: string,
  asked: RequestOptions = {},
): Promise<T> {
  const { status, body } = await ask(of, method, path, asked)
  if (status !== 200) throw new Error(`${method} ${path} was answered ${status}`)
  return (body as { data: T }).data
}

async function signUp(at: { url: string }): Promise<Account> {
  const id = randomBytes(8).toString('hex')
  const account = { email: `${id}@example.com`, password: `password of ${id}` }
  await data(at, 'POST', '/signup', { body: account })
  return account
}
async function logIn(at: { url: string }, account: Account): Promise<Headers> {
  const { access_token } = await data<{ access_token: string }>(at, 'POST', '/login', { body: account })
  return { authorization: `Bearer ${access_token}` }
}
async function newKey(at: { url: string }, bearer: Headers, body: object = {}) {
  type Created = { client: { clientId: string; token: string } }
  const created = await data<Created>(at, 'POST', '/clients', {
    headers: bearer,
    body: { title: 'Shop', ...body },
  })
  const { clientId, token: secret } = created.client
  return { id: clientId, headers: { 'x-client-id': clientId, 'x-client-token': secret } }
}
const supported = (at: { url: string }, headers: Headers) => ask(at, 'GET', '/supported', { headers })

const readRequests = (at: { url: string }, headers: Headers) =>
  data<HttpMetrics>(at, 'GET', '/metrics/summary', { headers })
const readSettlements = (at: { url: string }, headers: Headers) =>
  data<SettlementMetrics>(at, 'GET', '/x402-metrics/summary', { headers })

const of = (turn: number) => (turn % 2 === 0 ? first : second)
const other = (turn: number) => of(turn + 1)
const sum = (counts: { requests: number }[]) => counts.reduce((all, { requests }) => all + requests, 0)

test('a user created on one logs in on the other', async () => {
  for (const turn of [0, 1]) await logIn(other(turn), await signUp(of(turn)))
})

test('a key created on one works on the other at once, and once deleted there is rejected by the first at once', async () => {
  const bearer = await logIn(first, await signUp(first))
  for (let turn = 0; turn < 20; turn++) {
    const { id, headers } = await newKey(of(turn), bearer)
    expect((await supported(other(turn), headers)).status).toBe(200)
    expect((await supported(of(turn), headers)).status).toBe(200)
    await data(other(turn), 'DELETE', `/clients/${id}`, { headers: bearer })
    expect((await supported(of(turn), headers)).status).toBe(401)
    expect((await supported(other(turn), headers)).status).toBe(401)
  }
})

test('the metrics of both sum up to the sent requests, by route, status and client', async () => {
  const bearer = await logIn(first, await signUp(first))
  const whole = await newKey(first, bearer)
  const narrow = await newKey(second, bearer, { scope: 'supported' })
  const sent = new Map<string, number>()
  const count = (...names: string[]) => names.forEach((name) => sent.set(name, (sent.get(name) ?? 0) + 1))

  const kinds = [
    { key: whole, method: 'GET', path: '/supported', status: 200 },
    { key: narrow, method: 'GET', path: '/supported', status: 200 },
    { key: whole, method: 'POST', path: '/verify', body: {}, status: 400 },
    { key: narrow, method: 'POST', path: '/verify', body: {}, status: 403 },
    { key: whole, method: 'POST', path: '/settle', body: { x402Version: 1 }, status: 400 },
    { key: undefined, method: 'GET', path: '/clients', status: 200 },
  ]
  count('POST /api/v1/clients', '200', 'POST /api/v1/clients', '200')
  let turn = 0
  const caller = async () => {
    while (turn < 900) {
      const mine = turn++
      const { key, method, path, body, status } = kinds[mine % kinds.length]!
      const answer = await ask(of(Math.floor(mine / kinds.length)), method, path, {
        headers: key?.headers ?? bearer,
        body,
      })
      expect(answer.status).toBe(status)
      count(`${method} /api/v1${path}`, String(status), ...(key ? [key.id] : []))
    }
  }
  await Promise.all(Array.from({ length: 16 }, caller))

  /** Excludes the requests that read the metrics, which are also counted. */
  async function readCounts() {
    const { requests, routes, statuses, clients } = await readRequests(first, bearer)
    const own = routes.filter(({ route }) => !route.includes('/metrics/'))
    const reads = sum(routes) - sum(own)
    const counts = [
      ...own.map((one) => [`${one.method} ${one.route}`, one.requests] as const),
      ...statuses.map(
        (one) => [String(one.status), one.requests - (one.status === 200 ? reads : 0)] as const,
      ),
      ...clients.map((one) => [one.client_id, one.requests] as const),
    ]
    return { requests: requests - reads, counts: new Map(counts) }
  }
  const { counts, requests } = await until(readCounts, (found) => found.requests >= 902)
  expect(requests).toBe(902)
  expect(counts).toEqual(sent)
})

test("settlement metrics match the chain's transfers, on either facilitator", async () => {
  const bearer = await logIn(first, await signUp(first))
  const { headers } = await newKey(first, bearer)
  const payTo = Wallet.createRandom().address
  const payer = Wallet.createRandom()
  await fundWallet(world.infrastructure.rpcUrl, payer.address, { usdc: 10_000_000n })

  const settle = async (turn: number) => {
    const body = await settleRequest(payer, payTo, 1_000n + BigInt(turn))
    return (await ask(of(turn), 'POST', '/settle', { headers, body })).body as SettleResult
  }
  const results = await Promise.all(Array.from({ length: 12 }, (_, turn) => settle(turn)))
  expect(results.filter(({ success }) => success)).toHaveLength(12)

  const paid = await world.token.authorizationsTo(payTo)
  const amount = paid.reduce((all, { value }) => all + value, 0n)
  const metrics = await readSettlements(second, bearer)
  expect(new Set(results.map(({ transaction }) => transaction))).toEqual(
    new Set(paid.map(({ transaction }) => transaction)),
  )
  expect(metrics).toMatchObject({
    settled: paid.length,
    failed: 0,
    amounts: [
      { network: 'base-sepolia', asset: USDC_ADDRESS, settled: paid.length, amount: amount.toString() },
    ],
    fees: [{ network: 'base-sepolia', transactions: new Set(paid.map((one) => one.transaction)).size }],
    networks: [{ network: 'base-sepolia', settled: paid.length, failed: 0 }],
  })
})

test('kill -9 loses only the counts of the last second', async () => {
  const bearer = await logIn(first, await signUp(first))
  const { id, headers } = await newKey(first, bearer)
  const answeredAt: number[] = []
  let isOver = false
  let underWay = 0
  const caller = async () => {
    while (!isOver) {
      underWay++
      const answer = await supported(second, headers).catch(() => undefined)
      if (!answer) return
      underWay--
      expect(answer.status).toBe(200)
      answeredAt.push(performance.now())
    }
  }
  const callers = Array.from({ length: 4 }, caller)
  const begunAt = performance.now()
  await until(
    () => Promise.resolve(performance.now() - begunAt),
    (ms) => ms > 4_000 && answeredAt.length > 200,
  )
  const pid = second.pid()
  if (pid === undefined) throw new Error('The second facilitator does not run')
  const killedAt = performance.now()
  process.kill(pid, 'SIGKILL')
  isOver = true
  await Promise.all(callers)

  // It is restarted; by then all its earlier data has arrived.
  await until(
    () => supported(second, headers),
    ({ status }) => status === 200,
  )
  await until(
    () => readRequests(first, bearer),
    ({ clients }) => clients.some(({ client_id }) => client_id === id),
  )
  const restarted = 1
  const counted = sum((await readRequests(first, bearer)).clients.filter((one) => one.client_id === id))
  const safe = answeredAt.filter((at) => at < killedAt - 1_000).length
  expect(safe).toBeGreaterThan(100)
  expect(counted).toBeGreaterThanOrEqual(safe)
  expect(counted).toBeLessThanOrEqual(answeredAt.length + underWay + restarted)
})
