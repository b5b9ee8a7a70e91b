import { type SessionTokens, type SettleResult } from '@tollgate/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import { openCallers, resourceOf, type Answer, type Callers } from './testing/callers'
import { applyCatalog, type Plan } from './testing/catalog'
import { newCustomer } from './testing/customers'
import { sign, until } from './testing/paying'
import { startCountingUpstream, type CountingUpstream } from './testing/upstream'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { signedLogin } from './testing/world'

let world: ObservedWorld
let upstream: CountingUpstream
let plans: Record<'twoCredits' | 'hundredCredits' | 'manyCredits', Plan>
let gateways: string[]
const opened: Callers[] = []

beforeAll(async () => {
  world = await startObservedWorld()
  upstream = await startCountingUpstream()
  gateways = [world.gateway.url]
  plans = {
    twoCredits: { ...world.plan, id: 4, credits: 2 },
    hundredCredits: world.plan,
    manyCredits: { ...world.plan, id: 5, credits: 100_000 },
  }
  await applyCatalog(world, { plans: [plans.twoCredits, plans.manyCredits], upstreamUrl: upstream.url })
  await until(
    async () => (await (await fetch(`${world.gateway.url}/pricing`)).json()) as Plan[],
    (sold) => sold.length === 4,
  )
}, 120_000)

afterEach(async () => {
  await Promise.all(opened.splice(0).map((callers) => callers.close()))
})
afterAll(async () => {
  upstream.stop()
  await world.stop()
}, 30_000)

/** Concurrent statements of one process that spend credits. */
const SPENDS_AT_ONCE = 2
/** Below the gateway's lock timeout of two seconds. */
const LONGEST_HOLD_MS = 800

const times = <T>(count: number, of: (index: number) => T) => Array.from({ length: count }, (_, i) => of(i))

/** For example `{ '200': 1, '403 REVOKED_TOKEN': 99 }`. */
function tally(answers: Answer[]) {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const name = typeof body['code'] === 'string' ? `${status} ${body['code']}` : String(status)
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

async function callersOf(count: number) {
  const callers = openCallers(gateways, count)
  opened.push(callers)
  await callers.warmUp()
  return callers
}

/** A customer that has bought its plan once; the buying call cost one credit. */
async function customerOf(plan: Plan) {
  const customer = await newCustomer(world, plan)
  const { wallet, address, session } = customer
  const callers = await callersOf(1)
  const call = { id: `${address}/bought`, token: session.token }
  const payment = await sign(wallet, (await callers.call(0, call)).body)
  expect((await callers.call(0, { ...call, payment })).status).toBe(200)
  return customer
}

/**
 * Sends all requests while the row that they need is locked, and releases the lock when `waiting` statements
 * wait for it and every gateway has read its requests, so that they always compete. Holds the lock for less
 * than the gateway's lock timeout.
 */
async function race(
  lock: { text: string; values?: unknown[] },
  waiting: number,
  send: () => Promise<Answer>[],
) {
  let answers: Promise<Answer[]> = Promise.resolve([])
  const allArrived = async () => {
    await until(world.ledger.waiting, (now) => now >= waiting, LONGEST_HOLD_MS / 1_000).catch(() => undefined)
    // Its response implies that all earlier requests were read.
    await Promise.all(gateways.map((url) => fetch(`${url}/health`)))
  }
  await world.ledger.whileLocked(lock, async () => {
    answers = Promise.all(send())
    await until(world.ledger.waiting, (now) => now > 0)
    await Promise.race([allArrived(), delay(LONGEST_HOLD_MS)])
  })
  return answers
}

/** The paid calls of a wallet except the buying one; all must have ended. */
async function paidCalls(address: string) {
  await world.ledger.settled(30)
  const bought = resourceOf(`${address}/bought`)
  return (await world.ledger.usage(resourceOf(address))).filter(({ resource }) => resource !== bought)
}

/** The calls of a wallet at the upstream except the buying one, with their number. */
const forwarded = (address: string) =>
  [...upstream.asked].filter(([id]) => id.startsWith(address) && !id.endsWith('/bought'))

const receiptOf = ({ headers }: Answer) =>
  JSON.parse(Buffer.from(String(headers['x-payment-response']), 'base64').toString()) as SettleResult

describe.each([
  { name: 'on one gateway process', processes: 1 },
  { name: 'on two gateway processes against one Postgres', processes: 2 },
])('$name', ({ processes }) => {
  beforeAll(async () => {
    while (gateways.length < processes) gateways.push((await world.addGateway()).url)
  }, 60_000)

  test('the last credit serves one of 1,000 parallel calls', async () => {
    const { address, session } = await customerOf(plans.twoCredits)
    expect(await world.ledger.balance(address)).toBe(1n)
    const callers = await callersOf(1_000)

    const account = { text: 'SELECT FROM accounts WHERE wallet = $1 FOR UPDATE', values: [address] }
    const answers = await race(account, SPENDS_AT_ONCE * processes, () =>
      times(1_000, (i) => callers.call(i, { id: `${address}/${i}`, token: session.token })),
    )

    expect(tally(answers)).toEqual({ '200': 1, '402': 999 })
    const served = `${address}/${answers.findIndex(({ status }) => status === 200)}`
    expect(forwarded(address)).toEqual([[served, 1]])
    expect(await paidCalls(address)).toMatchObject([
      { resource: resourceOf(served), state: 'done', credits: 1 },
    ])
    expect(await world.ledger.balance(address)).toBe(0n)
  })

  const isShared = processes === 1 || process.env['TEST_REDIS_URL'] !== undefined
  const withSharedNonces = isShared ? test : test.skip
  const reason = isShared ? '' : ' (skipped: without a redis-server each process keeps nonces of its own)'
  withSharedNonces(`one nonce under 100 parallel logins gives one token${reason}`, async () => {
    const { wallet, address, entrance } = await newCustomer(world, plans.hundredCredits)
    const body = await signedLogin(entrance, wallet)
    const callers = await callersOf(100)

    const answers = await Promise.all(times(100, (i) => callers.post(i, '/auth/login', { body })))

    expect(tally(answers)).toEqual({ '200': 1, '401 EXPIRED_NONCE': 99 })
    // The other one is every customer's first session.
    expect(await world.ledger.count('FROM sessions WHERE wallet = $1', [address])).toBe(2)
  })

  test('of 100 parallel refreshes with one token one wins, and a late reuse ends the session', async () => {
    const { address, session } = await customerOf(plans.hundredCredits)
    const body = { refresh_token: session.refresh_token }
    const callers = await callersOf(100)

    const ownTokens = `refresh_tokens WHERE session_id IN (SELECT id FROM sessions WHERE wallet = $1)`
    const lock = { text: `SELECT FROM ${ownTokens} FOR UPDATE`, values: [address] }
    const answers = await race(lock, processes, () =>
      times(100, (i) => callers.post(i, '/auth/refresh', { body })),
    )

    expect(tally(answers)).toEqual({ '200': 1, '401 INVALID_TOKEN': 99 })
    const next = answers.find(({ status }) => status === 200)?.body as SessionTokens
    expect(await world.ledger.count(`FROM ${ownTokens}`, [address])).toBe(2)
    expect(await world.ledger.count(`FROM ${ownTokens} AND used_at IS NOT NULL`, [address])).toBe(1)
    const callWith = (id: string) => callers.call(0, { id: `${address}/${id}`, token: next.token })
    expect(tally([await callWith('refreshed')])).toEqual({ '200': 1 })

    await world.ledger.rows(
      `UPDATE refresh_tokens SET used_at = used_at - INTERVAL '20 seconds' WHERE used_at IS NOT NULL`,
    )
    const revoked = { '403 REVOKED_TOKEN': 1 }
    expect(tally([await callers.post(0, '/auth/refresh', { body })])).toEqual({ '401 INVALID_TOKEN': 1 })
    for (const i of gateways.keys())
      expect(tally([await callers.call(i, { id: `${address}/ended-${i}`, token: next.token })])).toEqual(
        revoked,
      )
    const { refresh_token } = next
    expect(tally([await callers.post(0, '/auth/refresh', { body: { refresh_token } })])).toEqual(revoked)
  })

  test('no call that begins after the response to a logout is served', async () => {
    const { address, session } = await customerOf(plans.manyCredits)
    const callers = await callersOf(100)
    const made: { id: string; startedAt: number; answer: Answer }[] = []
    let loggedOutAt = Infinity
    let isBusy: () => void = () => undefined
    const busy = new Promise<void>((resolve) => (isBusy = resolve))

    const client = async (caller: number) => {
      for (let late = 0, n = 0; late < 3; n++) {
        const id = `${address}/${caller}-${n}`
        const startedAt = performance.now()
        made.push({ id, startedAt, answer: await callers.call(caller, { id, token: session.token }) })
        if (startedAt > loggedOutAt) late++
        if (made.length === 1_000) isBusy()
      }
    }
    const clients = times(100, client)
    await busy
    const logout = await callers.post(0, '/auth/logout', { token: session.token })
    loggedOutAt = performance.now()
    await Promise.all(clients)

    expect(logout.status).toBe(200)
    const late = made.filter(({ startedAt }) => startedAt > loggedOutAt).map(({ answer }) => answer)
    expect(tally(late)).toEqual({ '403 REVOKED_TOKEN': late.length })
    expect(late.length).toBeGreaterThanOrEqual(300)
    const {
      '200': served = 0,
      '403 REVOKED_TOKEN': refused,
      ...others
    } = tally(made.map(({ answer }) => answer))
    expect([others, made.length]).toEqual([{}, served + (refused ?? 0)])
    const ids = made.filter(({ answer }) => answer.status === 200).map(({ id }) => id)
    expect(new Set(forwarded(address).map(([id]) => id))).toEqual(new Set(ids))
    expect((await paidCalls(address)).length).toBe(served)
    expect(await world.ledger.balance(address)).toBe(BigInt(plans.manyCredits.credits - 1 - served))
  })

  test.each([
    { calls: 100, expected: { '200': 100 } },
    { calls: 150, expected: { '200': 100, '402': 50 } },
  ])(
    'one payment of 100 credits under $calls parallel calls is settled once, granted once and spent whole',
    async ({ calls, expected }) => {
      const { wallet, address, session } = await newCustomer(world, plans.hundredCredits)
      const callers = await callersOf(calls)
      const asked = await callers.call(0, { id: `${address}/asked`, token: session.token })
      const payment = await sign(wallet, asked.body)
      const before = await world.token.balanceOf(address)

      const answers = await race({ text: 'LOCK TABLE grants IN SHARE MODE' }, processes, () =>
        times(calls, (i) => callers.call(i, { id: `${address}/${i}`, token: session.token, payment })),
      )

      expect(tally(answers)).toEqual(expected)
      const [paid, ...more] = await world.ledger.payments(address)
      expect([paid, more]).toEqual([expect.objectContaining({ status: 'credited', grants: 1n }), []])
      const { plan } = world
      expect(await world.token.transfersOf(paid?.transaction ?? '', address)).toEqual([
        { from: address, to: plan.pay_to, value: BigInt(plan.amount) },
      ])
      expect(before - (await world.token.balanceOf(address))).toBe(BigInt(plan.amount))
      expect(new Set(answers.map((answer) => receiptOf(answer).transaction))).toEqual(
        new Set([paid?.transaction]),
      )

      const servedIds = answers.flatMap(({ status }, i) => (status === 200 ? [`${address}/${i}`] : []))
      expect(new Map(forwarded(address))).toEqual(new Map(servedIds.map((id) => [id, 1])))
      expect((await paidCalls(address)).filter(({ state }) => state === 'done').length).toBe(100)
      expect(await world.ledger.balance(address)).toBe(0n)
    },
  )

  test('the ledger is consistent after all races', async () => {
    expect(await world.ledger.broken()).toEqual([])
  })
})
