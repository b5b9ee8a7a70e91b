import { ChainUnavailable } from '@tollgate/chains'
import { openFacilitatorDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { newPayer, sharedChain } from '../testing/chain'
import { newClient, testFacilitator } from '../testing/facilitator'
import { faulty } from '../testing/faulty'
import { paymentRequest } from '../testing/payment'
import { openClaimWindow } from './claim-window'

const rpcUrl = sharedChain()
afterAll(closeAll)

const isOpen = () => false
const NOW = new Date('2026-11-23T12:00:00Z')

describe('the claim window', () => {
  test.each([
    ['of a request that just arrived', 0, 0, false],
    ['of a request that arrived 59 s ago', 59_000, 0, false],
    ['of a request that arrived 61 s ago', 61_000, 0, true],
    ['on a machine that was suspended for 61 s', 0, 61_000, true],
    ['on a machine whose clock was set back', 0, -61_000, true],
  ])('%s', (_, agoMs, passesMs, isOver) => {
    let now = NOW.getTime()
    const window = openClaimWindow(
      { arrivedAtMs: performance.now() - agoMs, isClosed: isOpen },
      () => new Date(now),
    )
    now += passesMs
    if (isOver) expect(() => window.assertOpen()).toThrow(ChainUnavailable)
    else expect(() => window.assertOpen()).not.toThrow()
  })

  test('closes when the client disconnects', () => {
    const window = openClaimWindow({ arrivedAtMs: performance.now(), isClosed: () => true }, () => NOW)
    expect(() => window.assertOpen()).toThrow('disconnected')
  })

  test('ends sixty seconds after the request arrived, also by the clock of Postgres', () => {
    const database = new Date('2030-01-01T00:00:00Z')
    const window = openClaimWindow({ arrivedAtMs: performance.now() - 40_000, isClosed: isOpen }, () => NOW)
    const remainingMs = window.endsAt(database).getTime() - database.getTime()
    expect(remainingMs).toBeLessThanOrEqual(20_000)
    expect(remainingMs).toBeGreaterThan(10_000)
  })
})

function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

test('a claim that reaches Postgres after its window claims nothing', async () => {
  const databaseUrl = await migratedDatabase('facilitator')
  const { pool, close } = openFacilitatorDatabase({ url: databaseUrl, poolSize: 2 })
  closeLater(close)
  await pool.query(`CREATE schema moved;
    CREATE TABLE moved.clock AS SELECT INTERVAL '0 seconds' AS ahead;
    CREATE sequence moved.reads;
    CREATE function moved.clock_timestamp() returns timestamptz language sql volatile
      AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM moved.clock, nextval(''moved.reads'')'`)
  const moved = new URL(databaseUrl)
  moved.searchParams.set('options', '-c search_path=moved,public,pg_catalog')
  const wasRead = async () => {
    const { rows } = await pool.query<{ is_called: boolean }>('SELECT is_called FROM moved.reads')
    return rows[0]!.is_called
  }
  let isLate = false
  let refusals = 0
  const facilitator = await testFacilitator({
    databaseUrl: moved.href,
    families: faulty((chain) => ({
      payments: {
        async verify(...payment) {
          // The first call, by the request, accepts the payment; the second, by the settler, refuses it.
          if (refusals > 0 && refusals-- === 1) return { reason: 'insufficient_funds', detail: 'spent since' }
          const refusal = await chain.payments.verify(...payment)
          if (isLate) {
            while (!(await wasRead()));
            await pool.query("UPDATE moved.clock SET ahead = INTERVAL '61 seconds'")
          }
          return refusal
        },
      },
    })),
  })
  const client = await newClient(facilitator.api)
  const body = await paymentRequest(await newPayer(rpcUrl))
  const settle = () => facilitator.api.post('/api/v1/settle').set(client).send(body)
  const settlements = async () => {
    const { rows } = await pool.query<{ status: string }>('SELECT status FROM settlements')
    return rows
  }

  const claimsNothing = async (before: { status: string }[]) => {
    await pool.query("UPDATE moved.clock SET ahead = '0'; ALTER sequence moved.reads RESTART")
    isLate = true
    const late = await settle()
    isLate = false
    expect(await settlements()).toEqual(before)
    return late
  }
  const late = await claimsNothing([])
  expect([late.status, late.body]).toMatchObject([500, { code: 'SETTLEMENT_FAILED' }])
  refusals = 2
  expect((await settle()).body).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
  expect((await claimsNothing([{ status: 'failed' }])).body).toMatchObject({ success: false })
  expect((await settle()).body).toMatchObject({ success: true })
})

test('a request whose client disconnected claims nothing', async () => {
  const [verifying, disconnected] = [gate(), gate()]
  const facilitator = await testFacilitator({
    families: faulty((chain) => ({
      payments: {
        async verify(...payment) {
          verifying.open()
          await disconnected.opened
          return chain.payments.verify(...payment)
        },
      },
    })),
  })
  const { database, url } = facilitator
  const client = await newClient(facilitator.api)
  const [abandoned, other] = await Promise.all([1, 2].map(async () => paymentRequest(await newPayer(rpcUrl))))
  const leaving = new AbortController()
  const answer = fetch(`${url}/api/v1/settle`, {
    method: 'POST',
    headers: { ...client, 'content-type': 'application/json' },
    body: JSON.stringify(abandoned),
    signal: leaving.signal,
  })
  await verifying.opened
  leaving.abort()
  await expect(answer).rejects.toThrow('aborted')
  await new Promise((resolve) => setTimeout(resolve, 200))
  disconnected.open()
  const settled = await facilitator.api.post('/api/v1/settle').set(client).send(other)
  expect(settled.body).toMatchObject({ success: true })
  const { rows } = await database.pool.query('SELECT payer FROM settlements')
  expect(rows).toEqual([{ payer: other?.paymentPayload.payload.authorization.from }])
})
