import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations, openSession } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { inSession, chargeOf, endingOf, lockAccount, times, waitForLockWaiter } from '../testing/ledgers'
import { outcomeOf } from '../testing/outcome'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

test('a refund that Postgres does not accept is made later', async () => {
  const { ledger, pool } = gateway
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  const { call } = await wallet.signIn()
  const chain_id = await gateway.chain('http://127.0.0.1:1')

  // The call is charged, then its usage row is locked.
  await pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql`,
  )
  await pool.query('CREATE TRIGGER refuse BEFORE UPDATE ON usage FOR EACH ROW EXECUTE FUNCTION refuse()')
  expect((await call({ chain_id })).status).toBe(500)
  expect(await balanceOf(ledger, wallet.address)).toBe(9n)
  await expect(ledger.finishUnwritten()).rejects.toThrow('not now')

  await pool.query('DROP TRIGGER refuse ON usage')
  await ledger.finishUnwritten()
  expect(await balanceOf(ledger, wallet.address)).toBe(10n)
  expect(await findViolations(pool)).toEqual([])
})

test('a drain waits for the ends of calls, and not for one that waits to be written again', async () => {
  const { ledger, pool } = gateway
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  const sessionId = await openSession(pool, wallet.address)
  const spent = await ledger.spend(chargeOf({ authority: inSession(sessionId), wallet: wallet.address }))
  if (spent.outcome !== 'paid') throw new Error('The call was not paid')
  let isDrained = false
  const drained = ledger.drain({ callsWithinMs: 600_000 }).then(() => (isDrained = true))
  await ledger.drain()
  expect(isDrained).toBe(false)
  await ledger.finish(endingOf(spent.usageId))
  await drained
  const { rows } = await pool.query('SELECT state FROM usage WHERE id = $1', [spent.usageId])
  expect(rows).toEqual([{ state: 'done' }])

  const other = await ledger.spend(chargeOf({ authority: inSession(sessionId), wallet: wallet.address }))
  if (other.outcome !== 'paid') throw new Error('The call was not paid')
  await pool.query('ALTER TABLE usage RENAME TO hidden')
  await expect(ledger.finish(endingOf(other.usageId))).rejects.toThrow()
  await pool.query('ALTER TABLE hidden RENAME TO usage')
  await ledger.drain({ callsWithinMs: 600_000 })
  expect(await findViolations(pool)).toEqual([])
})

test('a call above the queue limit is answered with Retry-After and never forwarded', async () => {
  const { ledger, pool, upstream } = gateway
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 20_000)
  const { call } = await wallet.signIn()
  const sessionId = await openSession(pool, wallet.address)
  const charge = chargeOf({ authority: inSession(sessionId), wallet: wallet.address })
  const asked = upstream.requests.length

  // Nothing can be written until this lock is released.
  const holder = await pool.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE accounts')
  const waiting = Promise.allSettled(times(10_000, () => ledger.spend(charge)))
  // A second batch starts beside the first one, which is stalled.
  await waitForLockWaiter(pool, 2)
  const filling = Promise.allSettled(times(10_000, () => ledger.spend(charge)))
  const refused = await call()
  await holder.query('ROLLBACK')
  holder.release()

  expect(outcomeOf(refused)).toEqual([503, 'OVERLOADED'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  const ends = [...(await waiting), ...(await filling)]
  const paid = ends.filter((end) => end.status === 'fulfilled' && end.value.outcome === 'paid').length
  expect(paid).toBeLessThan(10_000)
  expect(await balanceOf(ledger, wallet.address)).toBe(BigInt(20_000 - paid))
  expect(upstream.requests.length).toBe(asked)
  expect(await findViolations(pool)).toEqual([])
  await call().expect(200)
})

test('a call of a locked account is answered with Retry-After and never forwarded', async () => {
  const { ledger, upstream } = gateway
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  const { call } = await wallet.signIn()
  const asked = upstream.requests.length
  const release = await lockAccount(gateway.pool, wallet.address)
  const refused = await call()
  await release()
  expect(outcomeOf(refused)).toEqual([503, 'UNAVAILABLE'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(JSON.stringify(refused.body)).not.toMatch(/lock|SELECT|statement/i)
  expect(upstream.requests.length).toBe(asked)
  expect(await balanceOf(ledger, wallet.address)).toBe(10n)
  await call().expect(200)
})

test('a payment to a locked account is credited afterwards, and not requested again', async () => {
  const { ledger, pool, facilitator } = gateway
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1)
  const { call } = await wallet.signIn()
  const payment = await wallet.pay()
  const release = await lockAccount(gateway.pool, wallet.address)
  const pending = await call({ payment })
  await release()
  expect(outcomeOf(pending)).toEqual([503, 'PAYMENT_PENDING'])
  expect(Number(pending.headers['retry-after'])).toBeGreaterThan(0)
  await call({ payment }).expect(200)
  expect(facilitator.settlements).toHaveLength(1)
  expect(await balanceOf(ledger, wallet.address)).toBe(100n)
  expect(await findViolations(pool)).toEqual([])
})
