import { randomUUID } from 'node:crypto'
import { createNotifications, keepSession, migrate, openGatewayDatabase, waitForDatabase } from './index'
import { emptyDatabase, query } from './testing/database'
import { hasPgBouncer, startPgBouncer } from './testing/pgbouncer'

const MOMENT = new Date('2026-01-02T03:04:05.678Z')
const logger = { warn: () => undefined }

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A database whose time zone, date style and planner settings are not ours, behind PgBouncer. */
async function pooled(settings: Record<string, string>) {
  const direct = await emptyDatabase()
  const name = new URL(direct).pathname.slice(1)
  for (const setting of [`timezone = 'Asia/Kolkata'`, `datestyle = 'German'`, `intervalstyle = 'iso_8601'`])
    await query(direct, `ALTER DATABASE ${name} SET ${setting}`)
  const { url, stop } = await startPgBouncer(direct, settings)
  closing.push(stop)
  return { direct, url }
}

const withPgBouncer = hasPgBouncer ? describe : describe.skip
withPgBouncer('through PgBouncer (on the PATH)', () => {
  test.each<[string, Record<string, string>]>([
    ['with default settings', {}],
    [
      'that ignores startup parameters',
      { ignore_startup_parameters: 'options,statement_timeout,lock_timeout' },
    ],
  ])('in session mode %s, instants, limits, locks and notifications are right', async (_, settings) => {
    const { direct, url } = await pooled({ pool_mode: 'session', ...settings })
    await waitForDatabase(url)
    await migrate({ url, service: 'gateway' })
    const { prisma, pool, close } = openGatewayDatabase({ url })
    const stopping = new AbortController()
    closing.push(close)

    const id = randomUUID()
    await prisma.replica.create({ data: { id, heartbeatAt: MOMENT } })
    expect(await query(direct, `SELECT extract(epoch FROM heartbeat_at)::text AS at FROM replicas`)).toEqual([
      { at: '1767323045.678000' },
    ])
    expect((await prisma.replica.findFirstOrThrow()).heartbeatAt).toEqual(MOMENT)
    const { rows } = await pool.query(
      `SELECT heartbeat_at, current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
              current_setting('enable_seqscan') AS scan FROM replicas`,
    )
    expect(rows).toEqual([{ heartbeat_at: MOMENT, statement: '15s', lock: '2s', scan: 'off' }])

    let heard: string | undefined
    const notifications = createNotifications({ pool, logger })
    notifications.subscribe('news', (payload) => (heard = payload))
    notifications.begin()
    closing.push(() => notifications.close())
    while (heard === undefined) await pool.query("SELECT pg_notify('news', 'arrived')")

    const holding = new Promise<void>((resolve) => {
      const kept = keepSession(
        { pool, logger, purpose: 'test', stopping: stopping.signal },
        async (client, signal) => {
          await client.query('SELECT pg_advisory_lock(1)')
          resolve()
          await new Promise((ended) => signal.addEventListener('abort', ended))
        },
      )
      closing.push(() => (stopping.abort(), kept))
    })
    await holding
    expect((await pool.query('SELECT pg_try_advisory_lock(1) AS acquired')).rows).toEqual([
      { acquired: false },
    ])
  })

  test.each(['transaction', 'statement'])(
    'in %s mode the start is refused at once, with what to set',
    async (mode) => {
      const { url } = await pooled({ pool_mode: mode })
      const onRetry = jest.fn()
      await expect(waitForDatabase(url, { onRetry })).rejects.toThrow(/Set pool_mode = session in PgBouncer/)
      expect(onRetry).not.toHaveBeenCalled()
    },
  )
})
