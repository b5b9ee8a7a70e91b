import { openGatewayDatabase } from '@tollgate/database'
import { SettleRequest } from '@tollgate/protocol'
import { closeAll, closeLater } from '@tollgate/testing'
import { randomBytes, randomUUID } from 'node:crypto'
import { usageRangeOf } from '../accounts/usage/usage-range'
import { findViolations, randomAddress, insertPayment } from '../testing/accounts'
import { endingOf, lockAccount, openLedgers, type TestLedgers } from '../testing/ledgers'
import { count, reportOf, sumsIn as sumsOfRange, sumsOf } from '../testing/usage'
import { createRetention } from './retention'

const periods = {
  RETENTION_USAGE_DAYS: 400,
  RETENTION_USAGE_TOTALS_DAYS: 762,
  RETENTION_PAYMENT_REQUEST_DAYS: 7,
  RETENTION_FAILED_PAYMENT_DAYS: 90,
  RETENTION_SESSION_DAYS: 7,
  RETENTION_WEBHOOK_DAYS: 30,
}
const pace = { limit: 3, pauseMs: 0 }

let { url, ledgers, pool, spender, usageOf } = {} as TestLedgers
// Ids ascend with time, so old rows are inserted first.
beforeEach(async () => {
  ;({ url, ledgers, pool, spender, usageOf } = await openLedgers())
})
afterEach(async () => {
  const problems = await findViolations(pool)
  await closeAll()
  expect(problems).toEqual([])
})

const never = new AbortController().signal
async function run(parts = { pool }) {
  await count(parts.pool)
  return retain(parts)
}
async function retain(parts = { pool }) {
  const report = await createRetention(parts, periods, pace)(never)
  expect(report.failures).toEqual([])
  return report
}
const age = (table: string, column: string, days: number, ids: readonly unknown[], key = 'id') =>
  pool.query(`UPDATE ${table} SET ${column} = now() - make_interval(days => $1) WHERE ${key} = ANY($2)`, [
    days,
    ids,
  ])

/** Of the day that is so many days ago. */
async function sumsIn(daysAgo: number, wallet: string) {
  const day = new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)
  const range = usageRangeOf({ interval: 'day', from: day, to: day }, new Date())
  const sums = await sumsOfRange(pool, { wallet, planId: undefined }, range)
  return sums.map(({ calls, credits, failed }) => ({ calls, credits, failed }))
}

describe('calls', () => {
  test('that are old are deleted, their cost is archived, and reserved ones are kept', async () => {
    const { wallet, paid, balance } = await spender(100)
    const [done, refunded, reserved, recent] = [
      [await paid(undefined, 2), await paid(undefined, 3), await paid(), await paid()],
      [await paid(undefined, 5)],
      [await paid(undefined, 7)],
      [await paid(undefined, 11)],
    ]
    for (const id of [...done, ...recent]) await ledgers[0].finish(endingOf(id))
    for (const id of refunded) await ledgers[0].finish(endingOf(id, 'refunded'))
    await age('usage', 'created_at', 401, [...done, ...refunded, ...reserved])
    await age('usage', 'created_at', 399, recent)
    const before = await balance()

    expect((await run()).rows).toMatchObject({ usage: 5 })
    expect((await usageOf(wallet)).map(({ id }) => id)).toEqual([...reserved, ...recent])
    const { rows } = await pool.query('SELECT calls, archived_credits FROM accounts WHERE wallet = $1', [
      wallet,
    ])
    expect([await balance(), rows]).toEqual([before, [{ calls: 2n, archived_credits: 7n }]])

    expect(await ledgers[0].finish(endingOf(reserved[0]!, 'refunded'))).toBe(true)
    expect((await run()).rows).toMatchObject({ usage: 1 })
    expect(await balance()).toBe(before + 7n)
  })

  test('are deleted while their account spends, on two replicas at once, and every credit is counted once', async () => {
    const other = openGatewayDatabase({ url })
    closeLater(() => other.close())
    const { wallet, paid, balance } = await spender(200)
    const old = await Promise.all(Array.from({ length: 60 }, () => paid()))
    for (const id of old) await ledgers[0].finish(endingOf(id))
    await age('usage', 'created_at', 500, old)

    const spending = Promise.all(Array.from({ length: 40 }, (_, index) => paid(ledgers[index % 2])))
    const reports = await Promise.all([run(), run(other), run(), run(other)])
    await spending
    await run()
    const deleted = reports.reduce((sum, { rows }) => sum + (rows.usage ?? 0), 0)
    expect(deleted).toBeLessThanOrEqual(60)
    expect([await balance(), (await usageOf(wallet)).length]).toEqual([100n, 40])
  })

  test('are kept until they are in the totals of /usage, which keep them', async () => {
    const { wallet, paid } = await spender(100)
    const [reserved, done] = [await paid(), await paid(undefined, 2)]
    await ledgers[0].finish({ ...endingOf(done), statusCode: 502 })
    await age('usage', 'created_at', 401, [done])
    expect((await run()).rows).toMatchObject({ usage: 0 })

    await ledgers[0].finish(endingOf(reserved))
    const before = await sumsIn(401, wallet)
    expect(before).toEqual([{ calls: 1, credits: 2, failed: 1 }])
    expect((await retain()).rows).toMatchObject({ usage: 0, usage_hours: 0 })
    expect((await run()).rows).toMatchObject({ usage: 1, usage_hours: 1, usage_days: 0 })
    expect(await sumsIn(401, wallet)).toEqual(before)

    await pool.query(
      "UPDATE usage_totals SET period = period - INTERVAL '365 days' WHERE period < now() - INTERVAL '400 days'",
    )
    expect((await run()).rows).toMatchObject({ usage_days: 1 })
    expect(await sumsOf(pool, wallet)).toMatchObject([{ calls: 1, credits: 1 }])
    expect(await reportOf(pool, wallet)).toMatchObject([{ calls: 1, credits: 1 }])
  })

  test('of a locked account are left for the next run, and only those', async () => {
    const { wallet, paid } = await spender(10)
    const id = await paid()
    await ledgers[0].finish(endingOf(id))
    await age('usage', 'created_at', 500, [id])
    const failed = await insertPayment(pool, { wallet: randomAddress(), credits: 1, status: 'failed' })
    await age('payments', 'updated_at', 91, [failed])

    await count(pool)
    const release = await lockAccount(pool, wallet)
    const running = createRetention({ pool }, periods, pace)(never)
    await running.catch(() => undefined)
    await release()
    const report = await running
    expect(report.failures).toMatchObject([{ task: 'usage', error: { code: '55P03' } }])
    expect(report.rows).toMatchObject({ failed_payments: 1, usage: 0 })
    expect((await run()).rows).toMatchObject({ usage: 1 })
  })
})

describe('payments', () => {
  const statuses = ['received', 'settling', 'settled', 'disputed', 'credited', 'failed']
  const request = {
    x402Version: 1,
    paymentPayload: {
      x402Version: 1,
      scheme: 'exact',
      network: 'base-sepolia',
      payload: { signature: '0xsigned' },
    },
    paymentRequirements: {
      scheme: 'exact',
      network: 'base-sepolia',
      maxAmountRequired: '10000',
      resource: 'https://gateway.example/rpc',
      description: '',
      mimeType: '',
      payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      maxTimeoutSeconds: 60,
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    },
  }
  async function ofEachState(days: number): Promise<Record<string, string>> {
    const ids: Record<string, string> = {}
    for (const status of statuses) {
      const before = status === 'credited' ? 'settled' : status
      const id = await insertPayment(pool, { wallet: randomAddress(), credits: 5, status: before, request })
      if (status === 'credited') await ledgers[0].grant(id)
      ids[status] = id
    }
    await age('payments', 'updated_at', days, Object.values(ids))
    return ids
  }
  const read = async (id: string | undefined) => {
    const { rows } = await pool.query<{ status: string; request: object; dropped: boolean }>(
      'SELECT status, request, request_dropped_at IS NOT NULL AS dropped FROM payments WHERE id = $1',
      [id],
    )
    return rows[0]
  }

  test('that have ended lose the signed payload and can still be read; open ones are kept whole at any age', async () => {
    const [old, recent] = [await ofEachState(8), await ofEachState(6)]
    await run()
    for (const status of statuses) {
      const isEnded = status === 'credited' || status === 'failed'
      const row = await read(old[status])
      expect([status, row?.status, row?.dropped]).toEqual([status, status, isEnded])
      expect(JSON.stringify(row?.request).includes('0xsigned')).toBe(!isEnded)
      expect(SettleRequest.parse(row?.request).paymentRequirements).toEqual(request.paymentRequirements)
      expect([status, (await read(recent[status]))?.dropped]).toEqual([status, false])
    }
    expect((await run()).rows).toMatchObject({ payment_requests: 0 })
  })

  test('that failed without a transaction are deleted; all others are kept', async () => {
    const ids = await ofEachState(91)
    const withTransaction = await ofEachState(91)
    await pool.query("UPDATE payments SET transaction = '0xab' WHERE id = $1", [withTransaction.failed])
    await run()
    const left = await Promise.all(statuses.map(async (status) => (await read(ids[status]))?.status))
    expect(left).toEqual(['received', 'settling', 'settled', 'disputed', 'credited', undefined])
    expect((await read(withTransaction.failed))?.status).toBe('failed')
  })
})

describe('access keys', () => {
  async function key(wallet: string, ended: { deleted?: number; expired?: number }) {
    const id = randomUUID()
    await pool.query(
      `INSERT INTO access_keys (id, hash, wallet, pricing_plan_id, label, deleted_at, expires_at)
       VALUES ($1, $2, $3, 1, 'app', now() - make_interval(days => $4), now() - make_interval(days => $5))`,
      [id, randomBytes(32), wallet, ended.deleted ?? null, ended.expired ?? null],
    )
    return id
  }
  const left = async (ids: readonly string[]) => {
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM access_keys WHERE id = ANY($1)', [ids])
    return ids.map((id) => rows.some((row) => row.id === id))
  }

  test('that ended are deleted once no call of their account shows their label', async () => {
    const { wallet, paid } = await spender(10)
    const keys = [
      await key(wallet, { deleted: 401 }),
      await key(wallet, { expired: 401 }),
      await key(wallet, { deleted: 401, expired: -30 }),
      await key(wallet, { deleted: 399, expired: -30 }),
      await key(wallet, { expired: 399 }),
      await key(wallet, { expired: -30 }),
      await key(wallet, {}),
    ]
    const reserved = await paid()
    await age('usage', 'created_at', 402, [reserved])
    expect((await run()).rows).toMatchObject({ access_keys: 0 })
    await ledgers[0].finish(endingOf(reserved))
    const recent = await paid()
    await ledgers[0].finish(endingOf(recent))
    expect((await run()).rows).toMatchObject({ usage: 1, access_keys: 3 })
    expect(await left(keys)).toEqual([false, false, false, true, true, true, true])
  })
})

describe('sessions', () => {
  async function session(...expiredDaysAgo: number[]): Promise<string> {
    const id = randomUUID()
    await pool.query(
      `INSERT INTO sessions (id, wallet, auth_method, chain_id, ecosystem, pricing_plan_id)
       VALUES ($1, $2, 'siwe', '84532', 'evm', 1)`,
      [id, randomAddress()],
    )
    for (const days of expiredDaysAgo)
      await pool.query(
        'INSERT INTO refresh_tokens (hash, session_id, expires_at) VALUES ($1, $2, now() - make_interval(days => $3))',
        [randomBytes(32), id, days],
      )
    return id
  }
  const tokensOf = async (id: string) => {
    const text = `SELECT count(token.hash)::int AS tokens FROM sessions LEFT JOIN refresh_tokens AS token
      ON token.session_id = sessions.id WHERE sessions.id = $1 GROUP BY sessions.id`
    return (await pool.query<{ tokens: number }>(text, [id])).rows[0]?.tokens
  }

  test('are deleted a week after their last refresh token expired', async () => {
    const [over, lapsed, rotated, alive, withoutTokens] = [
      await session(8, 9, 10, 11, 12),
      await session(6),
      await session(40, 30, -20),
      await session(-30),
      await session(),
    ]
    await run()
    const left = await Promise.all([over, lapsed, rotated, alive, withoutTokens].map(tokensOf))
    expect(left).toEqual([undefined, 1, 1, 1, 0])
  })
})

test('deliveries of webhooks are deleted 30 days after they ended, with their attempts and events', async () => {
  const wallet = randomAddress()
  await pool.query(
    `INSERT INTO webhook_endpoints (id, owner, url, description, events, secret) VALUES ($1, $2, '', '', '{}', '')`,
    [randomUUID(), wallet],
  )
  for (const days of [31, 29]) {
    await pool.query(`SELECT emit_webhook($1, 'payment.settled', $2, '{}')`, [wallet, String(days)])
    const at = `now() - make_interval(days => ${days})`
    await pool.query(`UPDATE webhook_events SET created_at = ${at} WHERE subject = $1`, [String(days)])
    await pool.query(
      `WITH ended AS (
         UPDATE webhook_deliveries SET state = 'delivered', ended_at = ${at} WHERE subject = $1 RETURNING id)
       INSERT INTO webhook_attempts (delivery_id, at, duration_ms) SELECT id, ${at}, 5 FROM ended`,
      [String(days)],
    )
  }
  expect((await run()).rows).toMatchObject({ webhook_deliveries: 1, webhook_events: 1 })
  const left = `SELECT d.subject FROM webhook_events AS e JOIN webhook_deliveries AS d ON d.event_id = e.id
    JOIN webhook_attempts AS a ON a.delivery_id = d.id`
  expect((await pool.query(left)).rows).toEqual([{ subject: '29' }])
})

test('the addresses that were given free credits are deleted when their day (UTC) ends', async () => {
  await pool.query(
    `INSERT INTO free_credit_shares (id, day, address)
     SELECT gen_random_uuid(), (now() AT TIME ZONE 'UTC')::date - ago, 'a' FROM generate_series(0, 4) AS ago`,
  )
  expect((await run()).rows).toMatchObject({ free_credit_shares: 4 })
  const left = "SELECT day = (now() AT TIME ZONE 'UTC')::date AS is_today FROM free_credit_shares"
  expect((await pool.query(left)).rows).toEqual([{ is_today: true }])
})

test('a run ends if another replica runs', async () => {
  const { paid } = await spender(10)
  const id = await paid()
  await ledgers[0].finish(endingOf(id))
  await age('usage', 'created_at', 500, [id])
  const other = await pool.connect()
  await other.query("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('retention gateway', 0))")
  const report = await createRetention({ pool }, periods, pace)(never)
  expect([report.isElsewhere, report.rows.usage ?? 0]).toEqual([true, 0])
  await other.query('COMMIT')
  other.release()
  expect((await run()).rows).toMatchObject({ usage: 1 })
})

test('a run ends at once when it is stopped', async () => {
  const { paid } = await spender(10)
  const ids = [await paid(), await paid(), await paid(), await paid()]
  for (const id of ids) await ledgers[0].finish(endingOf(id))
  await age('usage', 'created_at', 500, ids)
  const report = await createRetention({ pool }, periods, pace)(AbortSignal.abort())
  expect(Object.values(report.rows).every((rows) => rows === 0)).toBe(true)
  expect((await run()).rows).toMatchObject({ usage: 4 })
})
