import { openFacilitatorDatabase, type FacilitatorDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { randomBytes, randomUUID } from 'node:crypto'
import { settlementRows } from '../testing/settlement-rows'
import { createRetention } from './retention'

const periods = {
  RETENTION_PAYLOAD_DAYS: 30,
  RETENTION_REFRESH_TOKEN_DAYS: 7,
  RETENTION_METRICS_DAYS: 762,
  RETENTION_CATALOG_DAYS: 30,
  RETENTION_WEBHOOK_DAYS: 30,
}

let databases: FacilitatorDatabase[]
let pool: FacilitatorDatabase['pool']
let rows: ReturnType<typeof settlementRows>
let userId: number
let clientId: string
beforeAll(async () => {
  const url = await migratedDatabase('facilitator')
  databases = [openFacilitatorDatabase({ url }), openFacilitatorDatabase({ url })]
  for (const database of databases) closeLater(() => database.close())
  pool = databases[0]!.pool
  rows = settlementRows(pool)
  userId = await rows.user('shop@example.com')
  clientId = await rows.client(userId)
  await rows.asset()
})
afterAll(closeAll)

const never = new AbortController().signal
async function run() {
  const job = ({ pool: own }: FacilitatorDatabase) =>
    createRetention({ pool: own }, periods, { limit: 2, pauseMs: 0 })(never)
  const reports = [...(await Promise.all(databases.map(job))), await job(databases[0]!)]
  expect(reports.flatMap(({ failures }) => failures)).toEqual([])
}

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

describe('settlements', () => {
  const holdsPayload = async (id: bigint) => {
    await pool.query('SELECT 1')
    const text = 'SELECT payload, status, request_hash, nonce FROM settlements WHERE id = $1'
    const [row] = (await pool.query<{ payload: string }>(text, [id])).rows
    return row?.payload === '{"signature":"0xsigned"}'
  }
  async function settlement(row: Parameters<typeof rows.settlement>[1]) {
    const id = await rows.settlement(clientId, row)
    await pool.query(`UPDATE settlements SET payload = '{"signature":"0xsigned"}' WHERE id = $1`, [id])
    return id
  }

  test('that have ended lose only their payload', async () => {
    const old = { endedAt: daysAgo(31) }
    const ended = [
      await settlement({ ...old, status: 'settled' }),
      await settlement({
        ...old,
        status: 'settled',
        transactionId: await rows.transaction({ status: 'final' }),
      }),
      await settlement({ ...old, status: 'failed', errorReason: 'insufficient_funds' }),
      await settlement({ ...old, status: 'reversed', errorReason: 'payment_expired', isReported: true }),
    ]
    const select = 'SELECT to_jsonb(settlements) - $2 AS row FROM settlements WHERE id = ANY($1) ORDER BY id'
    const before = await pool.query(select, [ended, 'payload'])
    await run()
    expect(await Promise.all(ended.map(holdsPayload))).toEqual([false, false, false, false])
    expect((await pool.query(select, [ended, 'payload'])).rows).toEqual(before.rows)
  })

  test('that are open, or can reopen, keep it at any age', async () => {
    const old = { endedAt: daysAgo(300), ageSeconds: 300 * 86_400 }
    const [mined, signed] = [
      await rows.transaction({ nonce: 1n, status: 'mined' }),
      await rows.transaction({ nonce: 2n }),
    ]
    const undone = await settlement({ ...old, status: 'failed', errorReason: 'invalid_transaction_state' })
    await rows.charge(mined, undone, '100')
    const open = [
      await settlement({ ...old, status: 'claimed' }),
      await settlement({ ...old, status: 'signed', transactionId: signed }),
      await settlement({ ...old, status: 'reversed' }),
      await settlement({ ...old, status: 'settled', transactionId: mined }),
      undone,
      await settlement({ status: 'settled', endedAt: daysAgo(29) }),
    ]
    await run()
    expect(await Promise.all(open.map(holdsPayload))).toEqual(open.map(() => true))
  })
})

describe('the rest', () => {
  const count = async (text: string, values: unknown[]) =>
    (await pool.query<{ count: bigint }>(`SELECT count(*) FROM ${text}`, values)).rows[0]?.count

  test('refresh tokens are deleted a week after their expiry', async () => {
    for (const days of [8, 9, 10, 6, -30])
      await pool.query('INSERT INTO refresh_tokens (hash, user_id, expires_at) VALUES ($1, $2, $3)', [
        randomBytes(32),
        userId,
        daysAgo(days),
      ])
    await run()
    expect(await count('refresh_tokens WHERE user_id = $1', [userId])).toBe(2n)
  })

  test('password resets are deleted a week after their expiry', async () => {
    for (const days of [8, 9, 6, -1]) {
      const id = await rows.user(`reset-${days}@example.com`)
      await pool.query('INSERT INTO password_resets (user_id, hash, expires_at) VALUES ($1, $2, $3)', [
        id,
        randomBytes(32),
        daysAgo(days),
      ])
    }
    await run()
    expect(await count('password_resets', [])).toBe(2n)
  })

  test('invitations are deleted a week after their expiry, and used ones without expiry a week after their use', async () => {
    for (const days of [8, 9, 6, -7])
      await pool.query('INSERT INTO invitations (hash, expires_at) VALUES ($1, $2)', [
        randomBytes(32),
        daysAgo(days),
      ])
    for (const usedAt of [daysAgo(8), daysAgo(6), null])
      await pool.query('INSERT INTO invitations (hash, used_at) VALUES ($1, $2)', [randomBytes(32), usedAt])
    await run()
    expect(await count('invitations', [])).toBe(4n)
  })

  test('deliveries of webhooks are deleted 30 days after they ended, with their attempts and events', async () => {
    await pool.query(
      `INSERT INTO webhook_endpoints (id, owner, url, description, events, secret) VALUES ($1, $2, '', '', '{}', '')`,
      [randomUUID(), userId],
    )
    for (const days of [31, 29]) {
      await pool.query(`SELECT emit_webhook($1, 'settlement.settled', $2, '{}')`, [userId, `${days} days`])
      await pool.query('UPDATE webhook_events SET created_at = $2 WHERE subject = $1', [
        `${days} days`,
        daysAgo(days),
      ])
      await pool.query(
        `WITH ended AS (
           UPDATE webhook_deliveries SET state = 'delivered', ended_at = $2 WHERE subject = $1 RETURNING id)
         INSERT INTO webhook_attempts (delivery_id, at, duration_ms) SELECT id, $2, 5 FROM ended`,
        [`${days} days`, daysAgo(days)],
      )
    }
    await run()
    const left = `SELECT d.subject FROM webhook_events AS e JOIN webhook_deliveries AS d ON d.event_id = e.id
      JOIN webhook_attempts AS a ON a.delivery_id = d.id WHERE e.type = 'settlement.settled'`
    expect((await pool.query(left)).rows).toEqual([{ subject: '29 days' }])
    await pool.query('TRUNCATE webhook_endpoints, webhook_events, webhook_deliveries, webhook_attempts')
  })

  test('cataloged resources are deleted 30 days after their last payment', async () => {
    for (const days of [31, 32, 33, 29, 0])
      await pool.query(
        `INSERT INTO cataloged_resources (user_id, x402_version, resource, origin, type, operation, pay_to, accepts, offers,
           details, declared, created_at, last_paid_at)
         VALUES ($1, 2, $2, 'https://shop.example', 'http', 'GET', '0x1', '[{}]', '{x}', '{}', '{}', $3, $4)`,
        [userId, `https://shop.example/${days}`, daysAgo(300), daysAgo(days)],
      )
    await run()
    expect(await count('cataloged_resources', [])).toBe(2n)
  })

  test('metrics are deleted after 25 months', async () => {
    for (const days of [764, 765, 766, 760, 0]) {
      const day = daysAgo(days).slice(0, 10)
      await pool.query(
        `INSERT INTO http_metrics (user_id, day, method, route, status, count, buckets, counts)
         VALUES ($1, $2, 'GET', '/', 200, 1, '{1}', '{1}')`,
        [userId, day],
      )
      await pool.query(
        `INSERT INTO client_metrics (user_id, day, client_id, count, buckets, counts) VALUES ($1, $2, $3, 1, '{1}', '{1}')`,
        [userId, day, clientId],
      )
      await pool.query(
        `INSERT INTO settlement_refusals (client_id, day, network, reason, count) VALUES ($1, $2, '', 'x', 1)`,
        [clientId, day],
      )
    }
    await run()
    for (const table of ['http_metrics', 'client_metrics', 'settlement_refusals'])
      expect([table, await count(table, [])]).toEqual([table, 2n])
  })

  test('client keys are deleted after 25 months, unless a settlement or a transaction references them', async () => {
    const client = async (changes: string) => {
      const id = await rows.client(userId)
      await pool.query(`UPDATE clients SET ${changes} WHERE client_id = $1`, [id])
      return id
    }
    const named = await client("deleted_at = now() - interval '800 days'")
    await rows.settlement(named, { status: 'settled', endedAt: daysAgo(790) })
    const spender = await client("deleted_at = now() - interval '800 days'")
    await pool.query(
      'INSERT INTO fee_shares (transaction_id, client_id, payments, part, whole) VALUES ($1, $2, 1, 1, 1)',
      [await rows.transaction({ status: 'final' }), spender],
    )
    const kept = [
      named,
      spender,
      await client("deleted_at = now() - interval '700 days'"),
      await client('expires_at = NULL'),
    ]
    const gone = [
      await client("deleted_at = now() - interval '800 days'"),
      await client("expires_at = now() - interval '800 days'"),
      await client("expires_at = now() - interval '800 days', deleted_at = now()"),
    ]
    await run()
    expect(await count('clients WHERE client_id = ANY($1)', [kept])).toBe(4n)
    expect(await count('clients WHERE client_id = ANY($1)', [gone])).toBe(0n)
  })
})
