import { openGatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater } from '@tollgate/testing'
import { findViolations } from '../../testing/accounts'
import { endingOf, openLedgers, times, waitForLockWaiter, type TestLedgers } from '../../testing/ledgers'
import { count, inSnapshot, reportOf, sumsOf } from '../../testing/usage'

let { url, ledgers, pool, spender } = {} as TestLedgers
beforeEach(async () => {
  ;({ url, ledgers, pool, spender } = await openLedgers())
})
afterEach(async () => {
  const problems = await findViolations(pool)
  await closeAll()
  expect(problems).toEqual([])
})

const takeBack = (id: bigint) =>
  ledgers[0].finish({ ...endingOf(id, 'refunded'), outcome: 'not_answered', takesBack: true })

const totals = async () =>
  (await pool.query<object>('SELECT interval, calls, credits, failed FROM usage_totals ORDER BY interval'))
    .rows

test('every call is counted once, by two replicas at once, while calls are made, end and are taken back', async () => {
  const other = openGatewayDatabase({ url })
  closeLater(() => other.close())
  const wallets = await Promise.all(times(3, () => spender(10_000)))
  const running = new AbortController()
  const counting = [pool, other.pool].map(async (replica) => {
    while (!running.signal.aborted) await count(replica, { limit: 7, pauseMs: 0 })
  })
  const comparing = (async () => {
    let compared = 0
    for (; !running.signal.aborted; compared++)
      await inSnapshot(pool, async (snapshot) => {
        for (const { wallet } of wallets)
          expect(await reportOf(snapshot, wallet)).toEqual(await sumsOf(snapshot, wallet))
      })
    return compared
  })()

  const call = async (index: number) => {
    const { paid } = wallets[index % 3]!
    const id = await paid(ledgers[index % 2], 1 + (index % 4))
    if (index % 5 > 0) await ledgers[0].finish(endingOf(id, index % 7 === 0 ? 'refunded' : 'done'))
    if (index % 5 === 1) await takeBack(id)
    if (index % 5 === 0) await ledgers[1].finish({ ...endingOf(id), statusCode: 502 })
  }
  for (let round = 0; round < 12; round++) await Promise.all(times(30, (index) => call(round + index)))
  running.abort()
  await Promise.all(counting)
  expect(await comparing).toBeGreaterThan(0)

  await count(pool)
  const { rows } = await pool.query('SELECT last_call FROM usage_totals_progress')
  expect(rows).toEqual([{ last_call: 360n }])
  for (const { wallet } of wallets) expect(await reportOf(pool, wallet)).toEqual(await sumsOf(pool, wallet))
})

test('a call that has not ended, and all after it, are counted when it has ended', async () => {
  const { wallet, paid } = await spender(100)
  const [first, reserved, last] = [await paid(), await paid(), await paid()]
  for (const id of [first, last]) await ledgers[0].finish(endingOf(id))
  expect(await count(pool)).toBe(1)
  expect(await reportOf(pool, wallet)).toEqual([
    { chain_id: '84532', rpc_method: 'eth_blockNumber', calls: 3, credits: 3, failed: 0 },
  ])
  await ledgers[0].finish(endingOf(reserved, 'refunded'))
  expect(await count(pool)).toBe(2)
  expect(await reportOf(pool, wallet)).toEqual([
    { chain_id: '84532', rpc_method: 'eth_blockNumber', calls: 3, credits: 2, failed: 1 },
  ])
})

test('a batch of charges that has its ids and is not committed yet is not passed over', async () => {
  const [late, early] = [await spender(10), await spender(10)]
  await ledgers[0].finish(endingOf(await late.paid()))
  expect(await count(pool)).toBe(1)
  const client = await pool.connect()
  await client.query('BEGIN')
  const { rows } = await client.query<{ id: bigint }>(
    'SELECT id FROM accounts WHERE wallet = $1 FOR UPDATE',
    [late.wallet],
  )
  const { rows: ids } = await client.query<{ id: bigint }>("SELECT nextval('usage_id_seq') AS id")
  await ledgers[0].finish(endingOf(await early.paid()))
  expect(await count(pool)).toBe(0)

  await client.query(
    `INSERT INTO usage (id, account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, credits, state)
     SELECT $1, account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, 'late', credits, state
     FROM usage WHERE account_id = $2`,
    [ids[0]?.id, rows[0]?.id],
  )
  await client.query('UPDATE accounts SET calls = calls + 1, balance = balance - 1 WHERE id = $1', [
    rows[0]?.id,
  ])
  await client.query('COMMIT')
  client.release()
  expect(await count(pool)).toBe(2)
  for (const { wallet } of [late, early])
    expect(await reportOf(pool, wallet)).toEqual(await sumsOf(pool, wallet))
})

test('a step that is interrupted before its commit counts nothing, and the next one counts it', async () => {
  const { wallet, paid } = await spender(10)
  for (const id of [await paid(), await paid()]) await ledgers[0].finish(endingOf(id))
  const dying = openGatewayDatabase({ url, poolSize: 1 })
  closeLater(() => dying.close())
  const client = await dying.pool.connect()
  const query = client.query.bind(client) as (...parameters: unknown[]) => Promise<unknown>
  Object.assign(client, {
    async query(text: string, ...values: unknown[]) {
      if (text !== 'COMMIT') return query(text, ...values)
      await pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1', [
        (client as unknown as { processID: number }).processID,
      ])
      return query(text)
    },
  })
  client.release()
  await expect(count(dying.pool)).rejects.toThrow()
  expect(await totals()).toEqual([])
  expect(await count(pool)).toBe(2)
  expect(await reportOf(pool, wallet)).toEqual(await sumsOf(pool, wallet))
})

describe('a call that is taken back', () => {
  test('after it was counted is counted as failed and free', async () => {
    const { wallet, paid } = await spender(10)
    const [kept, taken, failed] = [await paid(), await paid(undefined, 3), await paid(undefined, 2)]
    for (const id of [kept, taken]) await ledgers[0].finish(endingOf(id))
    await ledgers[0].finish({ ...endingOf(failed), statusCode: 503 })
    await count(pool)
    for (const id of [taken, failed]) expect(await takeBack(id)).toBe(true)
    expect(await takeBack(taken)).toBe(false)
    expect(await reportOf(pool, wallet)).toEqual([
      { chain_id: '84532', rpc_method: 'eth_blockNumber', calls: 3, credits: 1, failed: 2 },
    ])
    expect(await totals()).toEqual(
      ['day', 'hour'].map((interval) => ({ interval, calls: 3n, credits: 1n, failed: 2n })),
    )
  })

  test('while it is being counted waits, and is counted as free', async () => {
    const { wallet, paid } = await spender(10)
    const id = await paid(undefined, 4)
    await ledgers[0].finish(endingOf(id))
    // As another replica that has read the call as done and commits its totals later.
    const counting = await pool.connect()
    await counting.query('BEGIN')
    await counting.query('SELECT FROM usage_totals_progress FOR UPDATE')
    const taking = takeBack(id)
    await waitForLockWaiter(pool)
    await counting.query(
      `INSERT INTO usage_totals SELECT account_id, interval, date_bin(step::interval, created_at, '2000-01-01Z'), chain_id,
         rpc_method, 1, credits, 0
       FROM usage, (VALUES ('hour', '1 hour'), ('day', '1 day')) AS intervals (interval, step) WHERE id = $1`,
      [id],
    )
    await counting.query('UPDATE usage_totals_progress SET last_call = $1', [id])
    await counting.query('COMMIT')
    counting.release()
    expect(await taking).toBe(true)
    expect(await reportOf(pool, wallet)).toEqual(await sumsOf(pool, wallet))
    expect(await totals()).toEqual(
      ['day', 'hour'].map((interval) => ({ interval, calls: 1n, credits: 0n, failed: 1n })),
    )
  })

  test('while a replica holds the totals for long is left for the next try', async () => {
    const { paid } = await spender(10)
    const id = await paid(undefined, 4)
    await ledgers[0].finish(endingOf(id))
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM usage_totals_progress FOR UPDATE')
    await expect(takeBack(id)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await holder.query('ROLLBACK')
    holder.release()
    await ledgers[0].finishUnwritten()
    await count(pool)
    expect(await totals()).toMatchObject([{ failed: 1n }, { failed: 1n }])
  })
})
