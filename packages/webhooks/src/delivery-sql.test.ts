import { closeAll } from '@tollgate/testing'
import { CLAIM } from './claim-sql'
import { BACKLOG, EXPIRE, RECORD_FAILURE, RECORD_SUCCESS } from './delivery-sql'
import { createDeliveryStore, type ClaimedDelivery } from './delivery-store'
import { PLAN_BY_INDEX } from './pending-sql'
import { openWorkerWorld, PAID_EVENT, type WorkerWorld } from './testing/worker-world'

const URL = 'https://shop.example/hooks'
const DONE = { status: 204, error: null, durationMs: 1 }

let world: WorkerWorld
beforeEach(async () => {
  world = await openWorkerWorld()
})
afterEach(closeAll)

const store = () => createDeliveryStore(world.pool, [PAID_EVENT])
/** A millisecond later: a time of now() may have been rounded up to one. */
async function claim(max: number): Promise<ClaimedDelivery[]> {
  await world.pool.query('SELECT pg_sleep(0.001)')
  return store().claim(max)
}

/** Deliveries of an endpoint; `subject` is SQL of its number `n`. */
const fill = (endpointId: string, count: number, subject = `'one'`, state = 'pending') =>
  world.pool.query(
    `WITH event AS (
      INSERT INTO webhook_events (message_id, type, subject, data)
      SELECT 'msg_' || gen_random_uuid(), 'x', ${subject}, '{}' FROM generate_series(1, $2::int) AS n RETURNING id, subject
    )
    INSERT INTO webhook_deliveries (event_id, endpoint_id, subject, state, ended_at)
    SELECT id, $1, subject, $3, CASE $3 WHEN 'pending' THEN NULL ELSE now() END FROM event ORDER BY id`,
    [endpointId, count, state],
  )

type Node = {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: Node[]
}

/** The most rows that a step of a statement reads. */
async function mostRows(text: string, values: unknown[]): Promise<number> {
  const session = await world.pool.connect()
  await session.query(`BEGIN; ${PLAN_BY_INDEX}`)
  const explained = await session.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    values,
  )
  await session.query('ROLLBACK')
  session.release()
  const rowsOf = (node: Node): number[] => [
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Join Filter'] ?? 0)) *
      node['Actual Loops'],
    ...(node.Plans ?? []).flatMap(rowsOf),
  ]
  return Math.max(...rowsOf(explained.rows[0]!['QUERY PLAN'][0].Plan))
}

describe('a claim looks at a few hundred deliveries of an endpoint, however many are pending', () => {
  const N = 20_000
  const analyze = () => world.pool.query('ANALYZE webhook_deliveries, webhook_events, webhook_endpoints')
  test.each([
    ['of one subject', `'one'`, () => Promise.resolve()],
    ['of one subject, with statistics', `'one'`, analyze],
    ['each of its own subject', `'subject ' || n`, () => Promise.resolve()],
    ['each of its own subject, with statistics', `'subject ' || n`, analyze],
  ])('%s', async (_, subject, prepare) => {
    const { id } = await world.newEndpoint(URL)
    await fill(id, N, subject)
    await prepare()
    expect(await mostRows(CLAIM, [64, []])).toBeLessThanOrEqual(400)
    await claim(64)
    expect(await mostRows(CLAIM, [64, []])).toBeLessThanOrEqual(400)
  })

  test('with statistics of a time when all had ended', async () => {
    const { id } = await world.newEndpoint(URL)
    await fill(id, N, `'one'`, 'delivered')
    await analyze()
    await fill(id, N)
    expect(await mostRows(CLAIM, [64, []])).toBeLessThanOrEqual(400)
    const [first] = await store().claim(64)
    expect(await mostRows(RECORD_SUCCESS, [first!.id, 1, 1, 204, null, false])).toBeLessThanOrEqual(10)
    expect(
      await mostRows(RECORD_FAILURE, [first!.id, 1, 1, 500, 'refused', null, false, URL]),
    ).toBeLessThanOrEqual(10)
    expect(await mostRows(BACKLOG, [])).toBeLessThanOrEqual(1_000)
    expect(await mostRows(EXPIRE, [100])).toBeLessThanOrEqual(100)
  })
})

test('of a subject with thousands of deliveries, each is due at once when the one before it has ended', async () => {
  const { id } = await world.newEndpoint(URL)
  await fill(id, 5_000)
  const sent: bigint[] = []
  for (let n = 0; n < 10; n++)
    for (const claimed of await claim(64)) {
      sent.push(claimed.id)
      await store().recordSuccess(claimed, DONE)
    }
  expect(sent).toEqual(sent.map((_, n) => sent[0]! + BigInt(n)))
  expect(sent).toHaveLength(10)
})

test('deliveries behind another one of their subject are put off, and hide no other subject', async () => {
  const { id, owner } = await world.newEndpoint(URL)
  await fill(id, 1_000)
  await world.emit(owner, 'other')
  const [first] = await claim(64)
  const claimed: ClaimedDelivery[] = []
  let claims = 1
  for (; claimed.length === 0; claims++) claimed.push(...(await claim(64)))
  expect(claims).toBeLessThanOrEqual(1_000 / 200 + 2)
  expect(claimed.map(({ data }) => data)).toEqual(['{"subject":"other"}'])

  // The end of the first makes the second due, not the others.
  const due = `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND state = 'pending' AND next_attempt_at <= now() + interval '1 millisecond' ORDER BY id`
  expect((await world.pool.query(due, [id])).rows).toEqual([])
  await store().recordSuccess(first!, DONE)
  expect((await world.pool.query(due, [id])).rows).toEqual([{ id: first!.id + 1n }])
  const [second] = await claim(64)
  expect(second!.id).toBe(first!.id + 1n)
  await store().recordSuccess(claimed[0]!, DONE)
  await store().recordFailure(second!, { ...DONE, error: 'refused' }, undefined)
  await world.makeDue(id)
  expect((await claim(64)).map((one) => one.id)).toEqual([first!.id + 2n])
})

describe('owners share the attempts:', () => {
  /** As many endpoints as an owner can have, each with many deliveries. */
  async function busyOwner() {
    const first = await world.newEndpoint(URL)
    const others = Array.from({ length: 9 }, () => world.newEndpoint(URL, { owner: first.owner }))
    for (const { id } of [first, ...(await Promise.all(others))]) await fill(id, 20, `'subject ' || n`)
    return first.owner
  }
  const openOf = async (): Promise<Record<string, number>> => {
    const text = `SELECT owner, count(*)::int AS open FROM webhook_deliveries JOIN webhook_endpoints AS endpoint ON endpoint.id = endpoint_id
      WHERE state = 'pending' AND leased_until > now() GROUP BY owner`
    const { rows } = await world.pool.query<{ owner: string; open: number }>(text)
    return Object.fromEntries(rows.map(({ owner, open }) => [owner, open]))
  }

  test('slow endpoints of a few do not take all, and an owner without an open attempt is served at once', async () => {
    const busy: string[] = []
    for (let n = 0; n < 5; n++) busy.push(await busyOwner())
    await claim(64)
    expect(Object.keys(await openOf()).sort()).toEqual(busy.sort())
    for (const open of Object.values(await openOf())) expect(open).toBeLessThanOrEqual(10)
    expect(Object.values(await openOf()).reduce((sum, open) => sum + open)).toBe(48)
    expect(await claim(16)).toEqual([])

    const other = await world.newEndpoint(URL)
    await world.emit(other.owner, 'one')
    await world.emit(other.owner, 'two')
    const claimed = await claim(16)
    expect(claimed.map(({ endpointId }) => endpointId)).toEqual([other.id])
  })

  test('one endpoint does not take the attempts of others of its owner', async () => {
    const { owner, ...one } = await world.newEndpoint(URL)
    const [two, three] = [await world.newEndpoint(URL, { owner }), await world.newEndpoint(URL, { owner })]
    for (const { id } of [one, two]) await fill(id, 20, `'subject ' || n`)
    expect(await claim(64)).toHaveLength(8)
    await fill(three.id, 20, `'subject ' || n`)
    expect((await claim(64)).map(({ endpointId }) => endpointId)).toEqual([three.id])
  })

  test('the one that was served longest ago comes first, whatever the age of its deliveries', async () => {
    const [recent, idle] = [await world.newEndpoint(URL), await world.newEndpoint(URL)]
    await world.pool.query(
      `UPDATE webhook_endpoints SET served_at = now() - interval '1 hour' WHERE id = $1`,
      [idle.id],
    )
    await fill(recent.id, 20, `'subject ' || n`)
    await fill(idle.id, 1)
    const endpoints: string[] = []
    for (let n = 0; n < 3; n++)
      for (const claimed of await claim(1)) {
        endpoints.push(claimed.endpointId)
        await store().recordSuccess(claimed, DONE)
      }
    expect(endpoints).toEqual([idle.id, recent.id, recent.id])
  })
})

test('a claim waits for no row that another statement has locked: a replay locks in the order of ids, a claim in any', async () => {
  const { id, owner } = await world.newEndpoint(URL)
  await fill(id, 3)
  await world.emit(owner, 'other')
  const session = await world.pool.connect()
  await session.query('BEGIN')
  await session.query(`SELECT FROM webhook_deliveries WHERE subject = 'one' FOR UPDATE`)
  expect((await claim(64)).map(({ data }) => data)).toEqual(['{"subject":"other"}'])
  await session.query('COMMIT')
  session.release()
  expect(await claim(64)).toHaveLength(1)
})

test('deliveries of a deleted endpoint are ended, in batches, and the backlog does not count them', async () => {
  const [deleted, live] = [await world.newEndpoint(URL), await world.newEndpoint(URL)]
  await fill(deleted.id, 1_500)
  await fill(live.id, 3)
  expect(await store().readBacklog()).toMatchObject({ pending: 1_003n })
  await world.endpoints.delete(deleted.owner, deleted.id)
  expect(await store().readBacklog()).toMatchObject({ pending: 3n })
  expect([await store().endDeleted(), await store().endDeleted(), await store().endDeleted()]).toEqual([
    1_000, 500, 0,
  ])
  expect((await claim(64)).map(({ endpointId }) => endpointId)).toEqual([live.id])
})

test('deliveries of endpoints that were inactive for three days are given up, with all that has waited as long', async () => {
  const { id, owner } = await world.newEndpoint(URL)
  await fill(id, 1_500, `'subject ' || n`)
  await world.pool.query(`UPDATE webhook_deliveries SET started_at = now() - interval '4 days'`)
  await world.endpoints.update(owner, id, { active: false })
  await fill(id, 1)
  expect([await store().expire(), await store().expire(), await store().expire()]).toEqual([1_000, 500, 0])
  expect(await store().readBacklog()).toEqual({ pending: 0n, oldestSeconds: 0 })
})

test('the log keeps the newest hundred attempts of a delivery', async () => {
  const { id, owner } = await world.newEndpoint(URL)
  await fill(id, 1)
  const attempts: ClaimedDelivery[] = []
  for (let n = 1; n <= 103; n++) {
    const [claimed] = await claim(1)
    attempts.push(claimed!)
    await store().recordFailure(claimed!, { status: 500, error: `attempt ${n}`, durationMs: 1 }, 0)
    await world.makeDue(id)
  }
  const count = 'SELECT count(*)::int AS count FROM webhook_attempts WHERE delivery_id = $1'
  expect((await world.pool.query(count, [attempts[0]!.id])).rows).toEqual([{ count: 100 }])
  const detail = await world.endpoints.findDelivery(owner, id, attempts[0]!.id)
  expect([detail!.log[0]!.error, detail!.log.at(-1)!.error]).toEqual(['attempt 103', 'attempt 4'])
})

test('410 Gone of a URL that its owner has changed since does not switch the endpoint off', async () => {
  const { id, owner } = await world.newEndpoint(URL)
  await fill(id, 2, `'subject ' || n`)
  const [before, after] = await claim(64)
  await world.endpoints.update(owner, id, { url: `${URL}/new` })
  await store().recordFailure(before!, { status: 410, error: 'gone', durationMs: 1 }, 1_000)
  expect(await world.endpoints.find(owner, id)).toMatchObject({ active: true, disabledReason: null })
  await store().recordFailure(
    { ...after!, url: `${URL}/new` },
    { status: 410, error: 'gone', durationMs: 1 },
    1_000,
  )
  expect(await world.endpoints.find(owner, id)).toMatchObject({ active: false })
})
