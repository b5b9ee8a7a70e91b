import { openFacilitatorDatabase, openGatewayDatabase, runRetention, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { createEndpointStore } from './endpoint-store'
import { webhookRetentionTasks } from './retention-tasks'

const DAYS = 30
const open = { facilitator: openFacilitatorDatabase, gateway: openGatewayDatabase }

afterAll(closeAll)

describe.each(['facilitator', 'gateway'] as const)('in the database of the %s', (service) => {
  let pool: Pool
  let owner: string
  let endpoint: string
  beforeAll(async () => {
    const database = open[service]({ url: await migratedDatabase(service) })
    closeLater(() => database.close())
    ;({ pool } = database)
  })
  beforeEach(async () => {
    owner = randomUUID()
    endpoint = await newEndpoint()
  })
  afterEach(() =>
    pool.query(
      'TRUNCATE webhook_endpoints, webhook_events, webhook_deliveries, webhook_attempts, webhook_replays',
    ),
  )

  async function newEndpoint() {
    const wanted = { url: 'https://shop.example/hooks', events: [], description: '', threshold: null }
    return (await createEndpointStore(pool).create(owner, wanted))!.id
  }

  type Row = { state: 'pending' | 'delivered' | 'failed'; days: number; attempts?: number }

  /** An event of so many days ago with a delivery to each endpoint, which ended then. */
  async function event({ state, days, attempts = 1 }: Row): Promise<string> {
    const subject = randomUUID()
    await pool.query(`SELECT emit_webhook($1, 'thing.changed', $2, '{}')`, [owner, subject])
    const at = `now() - make_interval(days => ${days}, mins => 1)`
    await pool.query(`UPDATE webhook_events SET created_at = ${at} WHERE subject = $1`, [subject])
    await pool.query(
      `UPDATE webhook_deliveries SET state = $2, started_at = ${at}, ended_at = CASE WHEN $2 <> 'pending' THEN ${at} END
       WHERE subject = $1`,
      [subject, state],
    )
    await pool.query(
      `INSERT INTO webhook_attempts (delivery_id, at, duration_ms)
       SELECT id, ${at}, 5 FROM webhook_deliveries, generate_series(1, $2) WHERE subject = $1`,
      [subject, attempts],
    )
    return subject
  }

  const subjectsIn = async (text: string) =>
    (await pool.query<{ subject: string }>(text)).rows.map(({ subject }) => subject).sort()
  const left = async () => ({
    events: await subjectsIn('SELECT subject FROM webhook_events'),
    deliveries: await subjectsIn('SELECT subject FROM webhook_deliveries'),
    attempts: await subjectsIn(
      'SELECT subject FROM webhook_attempts JOIN webhook_deliveries AS d ON d.id = delivery_id',
    ),
  })
  async function run(limit = 2) {
    const signal = new AbortController().signal
    const tasks = webhookRetentionTasks(DAYS)
    const report = await runRetention({ pool, lock: 'webhooks', tasks, signal, limit, pauseMs: 0 })
    expect(report.failures).toEqual([])
    return report.rows
  }

  test('deliveries that ended long ago go with their attempts and events, however many; all others stay', async () => {
    for (let n = 0; n < 5; n++)
      await event({ state: n % 2 ? 'failed' : 'delivered', days: DAYS, attempts: 3 })
    const kept = [
      await event({ state: 'delivered', days: DAYS - 1 }),
      await event({ state: 'failed', days: DAYS - 1 }),
      await event({ state: 'pending', days: 400 }),
    ].sort()
    expect(await run()).toEqual({
      webhook_deliveries: 5,
      webhook_events: 5,
      webhook_endpoints: 0,
      webhook_replays: 0,
    })
    expect(await left()).toEqual({ events: kept, deliveries: kept, attempts: kept })
    expect((await pool.query('SELECT FROM webhook_attempts')).rowCount).toBe(kept.length)
  })

  test('an event stays as long as one of its deliveries, as after a replay', async () => {
    await newEndpoint()
    const subject = await event({ state: 'delivered', days: DAYS })
    await pool.query(
      `UPDATE webhook_deliveries SET ended_at = now() WHERE subject = $1 AND endpoint_id = $2`,
      [subject, endpoint],
    )
    expect(await run()).toMatchObject({ webhook_deliveries: 1, webhook_events: 0 })
    expect(await left()).toMatchObject({ events: [subject], deliveries: [subject] })
  })

  test('counts of replays of long ago go', async () => {
    const count = 'INSERT INTO webhook_replays (owner, since) VALUES ($1, now() - make_interval(days => $2))'
    await pool.query(count, [owner, DAYS - 1])
    for (let n = 0; n < 3; n++) await pool.query(count, [randomUUID(), DAYS + 1])
    expect(await run()).toMatchObject({ webhook_replays: 3 })
    expect((await pool.query('SELECT owner FROM webhook_replays')).rows).toEqual([{ owner }])
  })

  test('a deleted endpoint goes once its deliveries have gone', async () => {
    const subject = await event({ state: 'delivered', days: DAYS - 1 })
    await pool.query('UPDATE webhook_endpoints SET deleted_at = now() - make_interval(days => $1)', [
      DAYS + 1,
    ])
    const recent = await newEndpoint()
    await createEndpointStore(pool).delete(owner, recent)
    expect(await run()).toMatchObject({ webhook_endpoints: 0 })
    await pool.query(
      'UPDATE webhook_deliveries SET ended_at = now() - make_interval(days => $1) WHERE subject = $2',
      [DAYS + 1, subject],
    )
    expect(await run()).toMatchObject({ webhook_deliveries: 1, webhook_endpoints: 1 })
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM webhook_endpoints')
    expect(rows).toEqual([{ id: recent }])
  })
})
