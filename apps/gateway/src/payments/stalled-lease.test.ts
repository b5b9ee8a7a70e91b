import { balanceOf, insertPayment } from '../testing/accounts'
import { createClock } from '../testing/clock'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { startTcpProxy } from '../testing/tcp-proxy'
import { createCall } from '../testing/wallet'

let stalled: TestGateway
let other: TestGateway
let postgres: Awaited<ReturnType<typeof startTcpProxy>>
const clock = createClock()
beforeAll(async () => {
  other = await testGateway()
  postgres = await startTcpProxy(other.infrastructure.databaseUrl)
  stalled = await testGateway({
    beside: { infrastructure: { ...other.infrastructure, databaseUrl: postgres.url, clock } },
  })
})
afterAll(() => auditAndClose(other, stalled))

async function paymentOf(wallet: string) {
  const text = 'SELECT id, status, attempts FROM payments WHERE wallet = $1'
  const { rows } = await other.pool.query<{ id: string; status: string; attempts: number }>(text, [wallet])
  return rows[0]!
}
const timePasses = (wallet: string, minutes: number) =>
  other.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second', asked_at = asked_at - make_interval(mins => $2) WHERE wallet = $1",
    [wallet, minutes],
  )

async function isLeaseWaiting(): Promise<boolean> {
  const { rowCount } = await other.pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
     AND query LIKE '%attempts = attempts + 1%'`,
  )
  return rowCount === 1
}

async function leasedAndStalled() {
  const wallet = other.wallet()
  const { token } = await wallet.signIn()
  const payment = await wallet.pay()
  const call = () => createCall(other.api, token)({ payment }).then(outcomeOf)
  other.facilitator.next('pending')
  expect(await call()).toEqual([503, 'PAYMENT_PENDING'])
  await timePasses(wallet.address, 3)
  const { id } = await paymentOf(wallet.address)
  const holder = await other.pool.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM payments WHERE id = $1 FOR UPDATE', [id])
  const advancing = stalled.processor.advance(id)
  while (!(await isLeaseWaiting())) await new Promise(setImmediate)
  postgres.pause('response')
  await holder.query('COMMIT')
  holder.release()
  while ((await paymentOf(wallet.address)).attempts < 2) await new Promise(setImmediate)
  const settleRequestCount = () =>
    other.facilitator.calls.filter(({ request }) => JSON.stringify(request).includes(wallet.address)).length
  return { wallet, call, advancing, settleRequestCount }
}

test('a replica that stalled after it leased a payment does not settle one that has failed since', async () => {
  const { wallet, call, advancing, settleRequestCount } = await leasedAndStalled()
  await timePasses(wallet.address, 3)
  other.facilitator.refuse('insufficient_funds')
  expect(await call()).toEqual([402, undefined])
  other.facilitator.refuse(undefined)

  clock.advance(180)
  postgres.resume()
  expect(await advancing).toMatchObject({ status: 'failed' })
  expect(settleRequestCount()).toBe(2)
  expect(other.facilitator.settlements).toEqual([])
})

test('a replica that stalled after it leased a payment leaves it to the next lease, and it is credited once', async () => {
  const { wallet, call, advancing, settleRequestCount } = await leasedAndStalled()
  clock.advance(60)
  postgres.resume()
  expect(await advancing).toMatchObject({ status: 'settling' })
  expect(settleRequestCount()).toBe(1)
  await timePasses(wallet.address, 0)
  expect(await call()).toEqual([200, undefined])
  expect(await balanceOf(other.ledger, wallet.address)).toBe(99n)
})

test('a payment is credited once if a replica stalled before it could credit it', async () => {
  const { address } = other.wallet()
  const id = await insertPayment(other.pool, { wallet: address, credits: 100 })
  await stalled.pool.query('SELECT 1')
  postgres.pause('request')
  const late = stalled.processor.advance(id)
  expect(await other.processor.advance(id)).toMatchObject({ status: 'credited' })
  postgres.resume()
  expect(await late).toMatchObject({ status: 'credited' })
  expect(await balanceOf(other.ledger, address)).toBe(100n)
})
