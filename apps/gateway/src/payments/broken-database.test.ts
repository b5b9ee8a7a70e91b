import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations, insertPayment } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { lockAccount, times, waitForLockWaiter } from '../testing/ledgers'
import { outcomeOf } from '../testing/outcome'
import { type TestWallet } from '../testing/wallet'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  replica = await testGateway({ beside: gateway })
})
afterEach(async () => expect(await findViolations(gateway.pool)).toEqual([]))
afterAll(closeAll)

const creditsOf = ({ address }: TestWallet) => balanceOf(gateway.ledger, address)
const settlementsOf = ({ address }: TestWallet) =>
  gateway.facilitator.settlements.filter(({ request }) => JSON.stringify(request).includes(address)).length

async function hold(statement: string, values: unknown[] = []) {
  const holder = await replica.pool.connect()
  await holder.query('BEGIN')
  await holder.query(statement, values)
  return async () => {
    await holder.query('ROLLBACK')
    holder.release()
  }
}

const breakWaiting = () =>
  replica.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  )

describe('a payment is pending, its reason is in the log, and it is credited once, if', () => {
  const places: [string, (wallet: TestWallet) => Promise<() => Promise<void>>, number][] = [
    ['it is recorded', () => hold('LOCK TABLE payments IN SHARE MODE'), 0],
    ['its credits are given', (wallet) => lockAccount(replica.pool, wallet.address), 1],
  ]
  test.each(places)('the connection breaks while %s', async (_, holding, settled) => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 1)
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    const release = await holding(wallet)
    const answering = call({ payment }).then((answer) => answer)
    await waitForLockWaiter(replica.pool)
    await breakWaiting()
    const pending = await answering
    await release()

    expect(outcomeOf(pending)).toEqual([503, 'PAYMENT_PENDING'])
    expect(Number(pending.headers['retry-after'])).toBeGreaterThan(0)
    expect(gateway.log.text()).toContain('terminating connection')
    expect(settlementsOf(wallet)).toBe(settled)
    if (settled > 0) {
      await gateway.reconcile()
      expect(await creditsOf(wallet)).toBe(101n)
    }
    await call({ payment }).expect(200)
    expect([settlementsOf(wallet), await creditsOf(wallet)]).toEqual([1, 100n])
  })

  test('its row is locked when the facilitator responds', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    const asked = gateway.facilitator.calls.length
    const settle = gateway.facilitator.hold()
    const answering = call({ payment }).then((answer) => answer)
    while (gateway.facilitator.calls.length === asked) await new Promise(setImmediate)
    const release = await hold('SELECT FROM payments WHERE wallet = $1 FOR UPDATE', [wallet.address])
    settle()
    const pending = await answering
    await release()

    expect(outcomeOf(pending)).toEqual([503, 'PAYMENT_PENDING'])
    expect(Number(pending.headers['retry-after'])).toBeGreaterThan(0)
    expect(gateway.log.text()).toContain('lock timeout')
    await gateway.pool.query(
      "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE wallet = $1",
      [wallet.address],
    )
    await gateway.reconcile()
    expect([settlementsOf(wallet), await creditsOf(wallet)]).toEqual([1, 100n])
    await call({ payment }).expect(200)
  })
})

test('payments of locked accounts delay neither other payments nor calls', async () => {
  const { pool } = gateway
  const held = times(6, () => gateway.wallet().address)
  const [other, asking] = [gateway.wallet(), gateway.wallet()]
  for (const address of held) await gateway.fund(address, 1)
  const { call } = await asking.signIn()
  const release = await hold('SELECT FROM accounts WHERE wallet = ANY($1) FOR UPDATE', [held])
  for (let left = 20; left > 0; left--) await insertPayment(pool, { wallet: held[0]!, credits: 1 })
  for (const wallet of held) await insertPayment(pool, { wallet, credits: 1 })
  await insertPayment(pool, { wallet: other.address, credits: 100 })
  gateway.facilitator.next('pending')
  await call({ payment: await asking.pay() }).expect(503)
  await pool.query("UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE wallet = $1", [
    asking.address,
  ])

  const rounds = { busy: 0, areOver: false }
  const reconciling = (async () => {
    for (let round = 0; round < 3; round++) await gateway.reconcile()
  })().finally(() => (rounds.areOver = true))
  while (!rounds.areOver) {
    rounds.busy = Math.max(rounds.busy, pool.totalCount - pool.idleCount)
    await new Promise(setImmediate)
  }
  await reconciling
  expect([await creditsOf(other), await creditsOf(asking)]).toEqual([100n, 100n])
  // Of ten connections, those for calls remain.
  expect(rounds.busy).toBeLessThanOrEqual(6)

  await release()
  await pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE status = 'settled'",
  )
  for (let round = 0; round < 25; round++) await gateway.reconcile()
  expect(await Promise.all(held.map((address) => balanceOf(gateway.ledger, address)))).toEqual([
    22n,
    ...times(5, () => 2n),
  ])
})
