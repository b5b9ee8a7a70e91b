import { type ApiError } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { openWorkerWorld, type WorkerWorld } from './testing/worker-world'

let world: WorkerWorld
beforeAll(async () => {
  world = await openWorkerWorld()
})
afterAll(closeAll)

const wanted = { url: 'https://shop.example/hooks', events: [], description: '', threshold: null }
const refusal = async (work: Promise<unknown>) => {
  const { code, retryAfterSeconds, message } = await work.then(
    () => ({}) as ApiError,
    (error: unknown) => error as ApiError,
  )
  return { code, retryAfterSeconds, message }
}

test('an owner has at most ten endpoints, however many are made at once', async () => {
  const { endpoints } = world
  for (let round = 0; round < 10; round++) {
    const owner = randomUUID()
    const made = await Promise.all(Array.from({ length: 40 }, () => endpoints.create(owner, wanted)))
    expect(made.filter((endpoint) => endpoint !== undefined)).toHaveLength(10)
    expect(await endpoints.list(owner)).toHaveLength(10)
  }
})

test('an owner makes at most a hundred endpoints within a day, deleted ones included', async () => {
  const { endpoints, pool } = world
  const owner = randomUUID()
  for (let n = 0; n < 100; n++) {
    const made = await endpoints.create(owner, wanted)
    await endpoints.delete(owner, made!.id)
  }
  await pool.query(`UPDATE webhook_endpoints SET created_at = now() - interval '23 hours' WHERE owner = $1`, [
    owner,
  ])
  const refused = await refusal(endpoints.create(owner, wanted))
  expect(refused.code).toBe('RATE_LIMITED')
  expect(refused.retryAfterSeconds).toBeGreaterThan(3_500)
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(3_600)
  await pool.query(`UPDATE webhook_endpoints SET created_at = now() - interval '25 hours' WHERE owner = $1`, [
    owner,
  ])
  expect(await endpoints.create(owner, wanted)).toBeDefined()
})

test('what asks for the endpoints of an owner reads none of its deleted ones', async () => {
  const { pool, endpoints } = world
  const owner = randomUUID()
  await endpoints.create(owner, wanted)
  await pool.query(
    `INSERT INTO webhook_endpoints (owner, id, url, events, description, secret, active, deleted_at, created_at)
    SELECT $1, gen_random_uuid(), '', '{}', '', '', false, now(), now() - interval '2 days' FROM generate_series(1, 5000)`,
    [owner],
  )
  const session = await pool.connect()
  const read = async () => {
    const text = `SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_xact_user_tables WHERE relname = 'webhook_endpoints'`
    return (await session.query<{ rows: number }>(text)).rows[0]!.rows
  }
  for (const text of [
    'SELECT has_webhooks($1)',
    `SELECT emit_webhook($1, 'x', 'one', '{}')`,
    'SELECT has_webhooks($1)',
  ]) {
    await session.query('BEGIN')
    const before = await read()
    await session.query(text, [owner])
    expect((await read()) - before).toBeLessThanOrEqual(5)
    await session.query('COMMIT')
  }
  session.release()
})

test('an owner replays at most ten thousand deliveries within an hour, at all of its endpoints', async () => {
  const { pool, endpoints } = world
  const owner = randomUUID()
  const [one, other] = [await endpoints.create(owner, wanted), await endpoints.create(owner, wanted)]
  for (const { id } of [one!, other!])
    await pool.query(
      `WITH event AS (
        INSERT INTO webhook_events (message_id, type, subject, data)
        SELECT 'msg_' || gen_random_uuid(), 'x', n, '{}' FROM generate_series(1, 6000) AS n RETURNING id, subject
      )
      INSERT INTO webhook_deliveries (event_id, endpoint_id, subject, state, ended_at)
      SELECT id, $1, subject, 'delivered', now() FROM event ORDER BY id`,
      [id],
    )
  const range = { from: new Date(0), to: new Date(Date.now() + 60_000), state: null }
  const replay = (id: string) => endpoints.replayRange(owner, id, range)
  const both = await Promise.all([replay(one!.id), replay(other!.id)])
  expect(both.map(({ replayed }) => replayed).sort()).toEqual([4_000, 6_000])

  const [delivery] = await endpoints.listDeliveries(owner, one!.id, { before: null, state: null, limit: 1 })
  for (const again of [replay(one!.id), endpoints.replay(owner, one!.id, delivery!.id)]) {
    const refused = await refusal(again)
    expect(refused).toMatchObject({
      code: 'RATE_LIMITED',
      message: expect.stringContaining('go on in') as string,
    })
    expect(refused.retryAfterSeconds).toBeGreaterThan(3_000)
  }
  await pool.query(`UPDATE webhook_replays SET since = now() - interval '61 minutes' WHERE owner = $1`, [
    owner,
  ])
  expect(await endpoints.replay(owner, one!.id, delivery!.id)).toMatchObject({ state: 'pending' })
  expect(await endpoints.replayRange(randomUUID(), one!.id, range)).toMatchObject({ replayed: 0 })
})

test('ten test events of an endpoint can be pending, however many are sent at once', async () => {
  const { pool, endpoints } = world
  const owner = randomUUID()
  const { id } = (await endpoints.create(owner, wanted))!
  const sent = await Promise.allSettled(Array.from({ length: 15 }, () => endpoints.sendTest(owner, id)))
  expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
  expect(await refusal(endpoints.sendTest(owner, id))).toMatchObject({ code: 'CONFLICT' })
  await pool.query(`UPDATE webhook_deliveries SET state = 'delivered' WHERE endpoint_id = $1`, [id])
  expect(await endpoints.sendTest(owner, id)).toBeDefined()
})
