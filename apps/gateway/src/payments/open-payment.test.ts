import { closeAll } from '@tollgate/testing'
import { GRANT } from '../accounts/ledger-sql'
import { balanceOf, insertPayment } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { waitForLockWaiter } from '../testing/ledgers'
import { outcomeOf } from '../testing/outcome'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

const batch = (entries: number) =>
  Array.from({ length: entries }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_blockNumber' }))

test('a wallet with an open payment is not asked for another, with or without its proof', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  expect((await call()).status).toBe(402)
  gateway.facilitator.next('pending')
  expect(outcomeOf(await call({ payment: await wallet.pay() }))).toEqual([503, 'PAYMENT_PENDING'])

  const again = await call()
  expect(outcomeOf(again)).toEqual([503, 'PAYMENT_PENDING'])
  expect(Number(again.headers['retry-after'])).toBeGreaterThan(0)

  await gateway.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE wallet = $1",
    [wallet.address],
  )
  await gateway.reconcile()
  expect((await call()).status).toBe(200)
})

test("a call that waited for its wallet's payment is served once that is credited, not asked to pay", async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const id = await insertPayment(gateway.pool, { wallet: wallet.address, credits: 100 })
  const client = await gateway.pool.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE payments IN ACCESS EXCLUSIVE MODE')
  const outcome = call().then(outcomeOf)
  await waitForLockWaiter(gateway.pool)
  await client.query(GRANT, [id])
  await client.query('COMMIT')
  client.release()
  expect(await outcome).toEqual([200, undefined])
  expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
})

test('a wallet whose payment settled is not asked for another until its credits are granted', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const id = await insertPayment(gateway.pool, { wallet: wallet.address, credits: 100 })
  await gateway.pool.query("UPDATE payments SET created_at = now() - INTERVAL '1 day' WHERE id = $1", [id])
  expect(outcomeOf(await call())).toEqual([503, 'PAYMENT_PENDING'])
})

test('a failed payment does not prevent its wallet from paying', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  expect((await call({ payment: await wallet.pay(planOf({ amount: '9999' })) })).status).toBe(402)
  expect((await call()).status).toBe(402)
})

test('a payment is not settled for a call that it cannot cover', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const asked = gateway.facilitator.calls.length
  const answer = await call({ payload: batch(101), payment: await wallet.pay() })
  expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
  expect((answer.body as { message: string }).message).toContain(
    'costs 101 credits, 0 are left and one payment buys 100',
  )
  expect(gateway.facilitator.calls).toHaveLength(asked)
  expect(await balanceOf(gateway.ledger, wallet.address)).toBe(0n)
})

test('a call above the balance reports it', async () => {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 5)
  const { call } = await wallet.signIn()
  const answer = await call({ payload: batch(6) })
  expect(answer.status).toBe(402)
  expect((answer.body as { message: string }).message).toContain(
    'This call costs 6 credits and 5 are left on plan 1',
  )
})
