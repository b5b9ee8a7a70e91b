import { closeAll } from '@tollgate/testing'
import { createDeliveryStore, type ClaimedDelivery } from './delivery-store'
import { openWorkerWorld, PAID_EVENT, type WorkerWorld } from './testing/worker-world'

const URL = 'https://shop.example/hooks'
/** A replica whose attempts are all free asks for this many. */
const ALL = 96

let world: WorkerWorld
beforeEach(async () => (world = await openWorkerWorld()))
afterEach(closeAll)

const store = () => createDeliveryStore(world.pool, [PAID_EVENT])
/** A millisecond later: a time of now() may have been rounded up to one. */
async function claim(max = ALL): Promise<ClaimedDelivery[]> {
  await world.pool.query('SELECT pg_sleep(0.001)')
  return store().claim(max)
}
type Kind = { hasPaid: boolean; isSlow: boolean | null }

/** 300 owners with one endpoint each, and an event for each that is due. */
async function flood({ hasPaid, isSlow }: Kind) {
  await world.pool.query(
    `INSERT INTO webhook_endpoints (id, owner, url, description, events, secret, has_paid, is_slow, served_at)
     SELECT gen_random_uuid(), 'flood ' || n, $1, '', '{}', '', $2, $3, now() - interval '1 day' FROM generate_series(1, 300) AS n`,
    [URL, hasPaid, isSlow],
  )
  await world.pool.query(
    `SELECT emit_webhook(owner, 'thing.changed', 'one', '{}') FROM webhook_endpoints WHERE starts_with(owner, 'flood')`,
  )
}
async function honest(kind: Partial<Kind> = {}, type?: string) {
  const { id, owner } = await world.newEndpoint(URL, kind)
  await world.emit(owner, 'one', type)
  return id
}
const idsOf = (claimed: readonly ClaimedDelivery[]) => claimed.map(({ endpointId }) => endpointId)

describe('an event is sent at once beside 300 due events', () => {
  test.each<[string, Kind, Partial<Kind>, string | undefined]>([
    ['of owners that never paid', { hasPaid: false, isSlow: null }, {}, undefined],
    [
      'of owners that never paid, whose endpoints were quick',
      { hasPaid: false, isSlow: false },
      {},
      undefined,
    ],
    ['of slow endpoints', { hasPaid: true, isSlow: true }, {}, undefined],
    ['of endpoints without an attempt', { hasPaid: true, isSlow: null }, {}, undefined],
    [
      'of slow endpoints, at one without an attempt',
      { hasPaid: true, isSlow: true },
      { isSlow: null },
      undefined,
    ],
    [
      'of owners that never paid, if it tells of a first payment',
      { hasPaid: false, isSlow: false },
      { hasPaid: false, isSlow: null },
      PAID_EVENT,
    ],
  ])('%s', async (_of, kind, own, type) => {
    await flood(kind)
    const before = await honest(own, type)
    expect(idsOf(await claim())).toContain(before)
    const after = await honest({})
    expect(idsOf(await claim(ALL - 33))).toEqual([after])
  })
})

test('owners that never paid have a small share of all attempts, and the quick endpoints among them come first', async () => {
  await flood({ hasPaid: false, isSlow: null })
  const quick = await honest({ hasPaid: false, isSlow: false })
  const claimed = await claim()
  expect([claimed.length, claimed.every(({ hasPaid }) => !hasPaid)]).toEqual([32, true])
  expect(idsOf(claimed)).toContain(quick)
  expect(await claim()).toEqual([])

  const [first] = claimed
  await store().recordFailure(first!, { status: null, error: 'no answer', durationMs: 3_000 }, 5_000)
  expect(await claim()).toHaveLength(1)
})

test('an attempt decides whether its endpoint is slow, and an event of a payment that its owner has paid', async () => {
  const id = await honest({ hasPaid: false, isSlow: null }, PAID_EVENT)
  const kind = async () =>
    (
      await world.pool.query<object>(
        'SELECT has_paid AS "hasPaid", is_slow AS "isSlow" FROM webhook_endpoints WHERE id = $1',
        [id],
      )
    ).rows[0]
  const [failed] = await claim()
  expect(failed).toMatchObject({ hasPaid: true, provesPayment: true })
  await store().recordFailure(failed!, { status: null, error: 'no answer', durationMs: 10_000 }, 0)
  expect(await kind()).toEqual({ hasPaid: true, isSlow: true })
  await world.makeDue(id)
  const [taken] = await claim()
  await store().recordSuccess(taken!, { status: 204, error: null, durationMs: 20 })
  expect(await kind()).toEqual({ hasPaid: true, isSlow: false })
})
