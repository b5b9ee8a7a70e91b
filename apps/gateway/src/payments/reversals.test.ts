import { FacilitatorError } from '@tollgate/facilitator-client'
import { type Settlement, type SettlementsQuery } from '@tollgate/protocol'
import { createMetrics } from '@tollgate/service'
import { closeAll, eventually } from '@tollgate/testing'
import { insertPayment } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { readableLog } from '../testing/log'
import { settlementOf } from '../testing/settlement'
import { createReversalStore } from './reversal-store'
import { createReversalCheck, finalReversalsIn, startReversals } from './reversals'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
beforeEach(() => gateway.pool.query('DELETE FROM payments'))
afterAll(closeAll)

const final = { state: 'reversed', reason: 'payment_expired' } as const

describe('a reversal is final', () => {
  test.each<[Partial<Settlement>, payments: number, unknown: number]>([
    [final, 1, 0],
    [{ state: 'reversed', reason: null }, 0, 0],
    [{ state: 'failed', reason: 'payment_expired' }, 0, 0],
    [{ state: 'settled', reason: null }, 0, 0],
    [{ state: 'pending', reason: null }, 0, 0],
  ])('or not: %j', (changes, payments, unknown) => {
    const found = finalReversalsIn([settlementOf({ ...changes, nonce: '0x1' })])
    expect([found.payments.length, found.unknown]).toEqual([payments, unknown])
  })

  test('of an unknown payment, if an older facilitator leaves out the nonce', () => {
    expect(finalReversalsIn([settlementOf(final), settlementOf({ ...final, nonce: '0x1' })])).toEqual({
      payments: [{ asset: '0xusdc', payer: '0xpayer', nonce: '0x1' }],
      unknown: 1,
    })
  })
})

type Query = Partial<SettlementsQuery>
type Page = { settlements: Settlement[]; next: string | null }

/** A replica of the gateway that asks a facilitator with these answers. */
function replica(
  answer: (query: Query) => Page | Settlement[] | Promise<Page>,
  of: Pick<TestGateway, 'pool'> = gateway,
) {
  const asked: Query[] = []
  const log = readableLog()
  const check = createReversalCheck({
    settlements: {
      async list(query = {}) {
        asked.push(query)
        const found = await answer(query)
        return Array.isArray(found) ? { settlements: found, next: null } : found
      },
    },
    store: createReversalStore(of),
    logger: log.logger,
    now: () => new Date('2026-11-26T00:00:00.000Z'),
  })
  return {
    asked,
    lines: (message: string) => log.lines().filter((line) => line.message === message),
    check: (signal = new AbortController().signal) => check(signal),
  }
}

type Payment = { id: string; wallet: string; settlement: Settlement }

async function payment(status = 'credited', nonce = `0x${Math.random()}`): Promise<Payment> {
  const wallet = gateway.wallet().address
  const id = await insertPayment(gateway.pool, { wallet, credits: 5, status, nonce })
  const { rows } = await gateway.pool.query<{ network: string; asset: string }>(
    'SELECT network, asset FROM payments WHERE id = $1',
    [id],
  )
  return { id, wallet, settlement: settlementOf({ ...final, ...rows[0], payer: wallet, nonce }) }
}

async function hooked(status?: string) {
  const made = await payment(status)
  await gateway.pool.query(
    `INSERT INTO webhook_endpoints (id, owner, url, description, events, secret)
     VALUES (gen_random_uuid(), $1, 'https://app.example/hooks', '', '{}', 'x')`,
    [made.wallet],
  )
  return made
}

const reversedIds = async () =>
  (
    await gateway.pool.query<{ id: string }>(
      'SELECT id FROM payments WHERE reversed_at IS NOT NULL ORDER BY id',
    )
  ).rows.map(({ id }) => id)
const eventsOf = async (id: string) =>
  (
    await gateway.pool.query<{ type: string }>(
      'SELECT type FROM webhook_events WHERE subject = $1 ORDER BY id',
      [id],
    )
  ).rows.map(({ type }) => type)

const listOf =
  (...settlements: Settlement[]) =>
  ({ state, payer, nonce }: Query) =>
    settlements.filter(
      (one) =>
        (state === undefined || one.state === state) &&
        (payer === undefined || (one.payer === payer && one.nonce === nonce)),
    )

test.each(['settled', 'credited'])(
  'a payment that is %s is recorded, logged and an event, once',
  async (status) => {
    const { id, wallet, settlement } = await hooked(status)
    const one = replica(listOf(settlement))
    for (let times = 0; times < 3; times++) await one.check()
    expect([await reversedIds(), await eventsOf(id)]).toEqual([[id], ['payment.reversed']])
    expect(one.lines('payment reversed, final')).toMatchObject([{ paymentId: id, wallet, level: 'error' }])
    expect(one.asked[0]).toEqual({
      state: 'reversed',
      network: settlement.network,
      from: '2026-10-27T00:00:00.000Z',
      limit: 100,
    })
  },
)

test('replicas that learn of it at once write one event for each payment', async () => {
  const made = await Promise.all(Array.from({ length: 12 }, () => hooked()))
  const settlements = made.map(({ settlement }) => settlement)
  const replicas = await Promise.all(
    [settlements, [...settlements].reverse(), settlements, [...settlements].reverse()].map(async (listed) =>
      replica(listOf(...listed), await testGateway({ beside: gateway })),
    ),
  )
  await Promise.all(replicas.map(({ check }) => check()))
  for (const { id } of made) expect(await eventsOf(id)).toEqual(['payment.reversed'])
  expect(replicas.flatMap(({ lines }) => lines('payment reversed, final'))).toHaveLength(made.length)
})

describe('a facilitator that tells of other payments changes nothing:', () => {
  test.each<[string, Partial<Settlement>, status: string]>([
    ['another nonce', { nonce: '0x2' }, 'credited'],
    ['another payer', { payer: '0xother' }, 'credited'],
    ['another asset', { asset: '0xother' }, 'credited'],
    ...['received', 'settling', 'failed', 'disputed'].map((status): [string, Partial<Settlement>, string] => [
      `a payment that is ${status}`,
      {},
      status,
    ]),
  ])('%s', async (_, changes, status) => {
    const { settlement } = await payment(status)
    await replica(() => [{ ...settlement, ...changes }]).check()
    expect(await reversedIds()).toEqual([])
  })

  test('a payment of another network', async () => {
    const { id, settlement } = await payment()
    await gateway.pool.query(`UPDATE payments SET network = 'base' WHERE id = $1`, [id])
    await replica(() => [settlement]).check()
    expect(await reversedIds()).toEqual([])
  })
})

describe('a payment that another reorg brought back', () => {
  test('is settled again, with its new transaction, in one event', async () => {
    const { id, settlement } = await hooked()
    await replica(listOf(settlement)).check()
    const again = { state: 'settled', reason: null, transaction: '0xnew', block: 99 } as const
    const replicas = [1, 2].map(() => replica(listOf({ ...settlement, ...again })))
    await Promise.all(replicas.map(({ check }) => check()))
    expect([await reversedIds(), await eventsOf(id)]).toEqual([[], ['payment.reversed', 'payment.settled']])
    const { rows } = await gateway.pool.query('SELECT status, transaction, block_number FROM payments')
    expect(rows).toEqual([{ status: 'credited', transaction: '0xnew', block_number: 99n }])
    expect(replicas.flatMap(({ lines }) => lines('reversed payment settled again'))).toHaveLength(1)
    expect(replicas[0]?.asked.at(-1)).toMatchObject({ payer: settlement.payer, nonce: settlement.nonce })
  })

  test.each<[string, Settlement['state'] | undefined]>([
    ['sent again', 'reversed'],
    ['signed again', 'pending'],
    ['not known to the facilitator', undefined],
  ])('stays reversed while it is only %s', async (_, state) => {
    const { id, settlement } = await payment()
    await replica(listOf(settlement)).check()
    await replica(listOf(...(state ? [{ ...settlement, state, reason: null }] : []))).check()
    expect(await reversedIds()).toEqual([id])
  })

  test('is not asked about while it is listed', async () => {
    const { settlement } = await payment()
    const one = replica(listOf(settlement))
    await one.check()
    await one.check()
    expect(one.asked.map(({ state }) => state)).toEqual(['reversed', 'reversed'])
  })
})

test('pages are followed, up to a bound that is logged', async () => {
  const made = [await payment(), await payment()]
  const pages: Record<string, Page> = {
    first: { settlements: [made[0]!.settlement], next: 'second' },
    second: { settlements: [made[1]!.settlement], next: null },
  }
  const one = replica(({ cursor = 'first' }) => pages[cursor]!)
  await one.check()
  expect(await reversedIds()).toEqual(made.map(({ id }) => id).sort())
  expect(one.lines('reversal check incomplete')).toEqual([])

  const endless = replica(() => ({ settlements: [], next: 'more' }))
  await endless.check().catch(() => undefined)
  expect(endless.asked.filter(({ state }) => state === 'reversed')).toHaveLength(20)
  expect(endless.lines('reversal check incomplete')).toHaveLength(1)
})

test('a facilitator that is away fails the check, and one that is older is logged', async () => {
  const { settlement } = await payment()
  const away = replica(() => Promise.reject(new FacilitatorError('unknown', 'It is away')))
  await expect(away.check()).rejects.toThrow('It is away')
  const { nonce: _nonce, ...older } = settlement
  const one = replica(() => [older])
  await one.check()
  expect(one.lines('reversal check incomplete')).toMatchObject([{ known: 0, unknown: 1 }])
  expect(await reversedIds()).toEqual([])
})

test('a check that is stopped asks no further', async () => {
  const stopping = new AbortController()
  const one = replica(() => {
    stopping.abort()
    return { settlements: [], next: 'more' }
  })
  await one.check(stopping.signal)
  expect(one.asked).toHaveLength(1)
})

test('the payer sees it, and that there is nothing to do', async () => {
  const { id, wallet, settlement } = await payment()
  const get = async () => (await gateway.api.get(`/payments/${wallet}/${id}`).expect(200)).body as object
  expect(await get()).toMatchObject({ status: 'credited', reversed_at: null, next: null })
  await replica(listOf(settlement)).check()
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string
  const next = expect.stringMatching(/^Nothing: .*The credits stay/) as string
  expect(await get()).toMatchObject({ status: 'credited', step: 'credited', reversed_at: time, next })
  const page = await gateway.api.get(`/payments/${wallet}`).expect(200)
  expect(page.body).toMatchObject({ data: [{ id, reversed_at: time }] })
})

test('the metrics count the reversals of the last day, and tell when every answer came', async () => {
  const payments = [await payment(), await payment()]
  await replica(listOf(...payments.map(({ settlement }) => settlement))).check()
  await gateway.pool.query(`UPDATE payments SET reversed_at = now() - interval '25 hours' WHERE id = $1`, [
    payments[0]?.id,
  ])
  async function metricsOf(list: () => Promise<Page>) {
    const [metrics, log] = [createMetrics(), readableLog()]
    const store = createReversalStore(gateway)
    const parts = { settlements: { list }, store, metrics, logger: log.logger, now: () => new Date() }
    const checks = startReversals(parts)
    async function read() {
      const text = await metrics.register.metrics()
      const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
      return {
        reversed: value('tollgate_payments_reversed'),
        checkedAt: value('tollgate_reversal_check_timestamp_seconds'),
        failed: log.lines().some(({ message }) => message === 'reversal check failed'),
      }
    }
    await eventually(read, ({ checkedAt, failed }) => checkedAt > 0 || failed)
    await checks.stop()
    return read()
  }
  const now = Date.now() / 1000
  const asked = await metricsOf(() => Promise.resolve({ settlements: [], next: null }))
  expect(asked).toMatchObject({ reversed: 1, failed: false })
  expect(Math.abs(asked.checkedAt - now)).toBeLessThan(60)
  const away = await metricsOf(() => Promise.reject(new FacilitatorError('unknown', 'It is away')))
  expect(away).toEqual({ reversed: 1, checkedAt: 0, failed: true })
})
