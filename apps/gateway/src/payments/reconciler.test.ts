import { decodeJson } from '@tollgate/protocol'
import { createLogger } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { openCatalog } from '../testing/catalog'
import { balanceOf, findViolations, insertPayment } from '../testing/accounts'
import { clientKey, type Behaviour } from '../testing/facilitator'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { signPayment, x402 } from '../testing/payment'
import { type TestWallet } from '../testing/wallet'
import { startReconciler } from './reconciler'
import { requirementsOf } from './requirements'

const logger = createLogger({
  service: 'gateway',
  level: 'error',
  stream: new Writable({ write: (_chunk, _encoding, done) => done() }),
})
let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ settleTimeoutMs: 200 })
  replica = await testGateway({ beside: gateway, settleTimeoutMs: 5_000 })
})
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const creditsOf = ({ address }: TestWallet) => balanceOf(gateway.ledger, address)
const settleRequestsOf = ({ address }: TestWallet) =>
  gateway.facilitator.calls.filter(({ request }) => JSON.stringify(request).includes(address))
const settlementsOf = ({ address }: TestWallet) =>
  gateway.facilitator.settlements.filter(({ request }) => JSON.stringify(request).includes(address))
const statusOf = async ({ address }: TestWallet) => {
  const text = 'SELECT status FROM payments WHERE wallet = $1'
  return (await gateway.pool.query<{ status: string }>(text, [address])).rows.map(({ status }) => status)
}
/** Makes every payment due, and ends the claim window of earlier settle requests. */
const timePasses = () =>
  gateway.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second', asked_at = asked_at - INTERVAL '3 minutes'",
  )

describe('a payment whose outcome is unknown', () => {
  const rows: [string, Behaviour | 'offline', number][] = [
    ['because it hangs', 'hang', 0],
    ['because it fails', 'error', 0],
    ['because it responds with garbage', 'garbage', 0],
    ['because it claims a success without a transaction', 'unproven', 0],
    ['because it waits for the chain', 'pending', 0],
    ['because its response was lost after it settled', 'lost', 1],
    ['because the facilitator is offline', 'offline', 0],
  ]
  test.each(rows)(
    '%s is pending, causes no new 402, and is credited once its outcome is known',
    async (_, behaviour, settled) => {
      const wallet = gateway.wallet()
      const { call } = await wallet.signIn()
      const payment = await wallet.pay()
      const served = gateway.upstream.requests.length
      if (behaviour === 'offline') gateway.facilitator.disconnect()
      else gateway.facilitator.next(behaviour)

      for (let tries = 0; tries < 3; tries++) {
        const answer = await call({ payment })
        expect(outcomeOf(answer)).toEqual([503, 'PAYMENT_PENDING'])
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
        expect(answer.body).not.toHaveProperty('accepts')
      }
      gateway.facilitator.reconnect()
      expect(settleRequestsOf(wallet).length).toBeLessThanOrEqual(1)
      expect([settlementsOf(wallet).length, await creditsOf(wallet)]).toEqual([settled, 0n])
      expect(await statusOf(wallet)).toEqual(['settling'])

      await timePasses()
      await Promise.all([gateway.reconcile(), replica.reconcile()])
      expect([settlementsOf(wallet).length, await creditsOf(wallet)]).toEqual([1, 100n])
      expect(new Set(settleRequestsOf(wallet).map(({ key }) => key)).size).toBe(1)
      expect(gateway.upstream.requests).toHaveLength(served)

      await timePasses()
      await Promise.all([gateway.reconcile(), replica.reconcile()])
      const answer = await call({ payment }).expect(200)
      expect(answer.headers['x-payment-response']).toBeDefined()
      expect([settlementsOf(wallet).length, await creditsOf(wallet)]).toEqual([1, 99n])
    },
  )

  test('is settled by the next call with it, if that precedes the reconciler', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.next('error')
    await call({ payment }).expect(503)
    await timePasses()
    await call({ payment }).expect(200)
    expect([settlementsOf(wallet).length, await creditsOf(wallet)]).toEqual([1, 99n])
  })

  test('leaves existing credits unspent until its outcome is known', async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 5)
    const { call } = await wallet.signIn()
    gateway.facilitator.next('error')
    await call({ payment: await wallet.pay() }).expect(503)
    expect(await creditsOf(wallet)).toBe(5n)
    await call().expect(200)
  })

  test('prevents a 402 for its wallet for a quarter of an hour', async () => {
    const [wallet, other] = [gateway.wallet(), gateway.wallet()]
    const { call } = await wallet.signIn()
    gateway.facilitator.next('error')
    await call({ payment: await wallet.pay() }).expect(503)
    const pending = await call()
    expect(outcomeOf(pending)).toEqual([503, 'PAYMENT_PENDING'])
    expect(Number(pending.headers['retry-after'])).toBeGreaterThan(0)
    await (await other.signIn()).call().expect(402)
    const old = "UPDATE payments SET created_at = now() - INTERVAL '16 minutes' WHERE wallet = $1"
    await gateway.pool.query(old, [wallet.address])
    await call().expect(402)
  })

  test('is 402 once it turns out to be refused', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.next('pending')
    await call({ payment }).expect(503)
    gateway.facilitator.refuse('insufficient_funds')
    await timePasses()
    await gateway.reconcile()
    gateway.facilitator.refuse(undefined)
    await timePasses()
    expect((await call({ payment })).body).toMatchObject({ status: 402, error: 'insufficient_funds' })
    expect(settleRequestsOf(wallet)).toHaveLength(2)
    expect([await statusOf(wallet), await creditsOf(wallet)]).toEqual([['failed'], 0n])
  })

  test('is retried with a backoff of up to half a minute', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    const waits: number[] = []
    for (let tries = 0; tries < 7; tries++) {
      gateway.facilitator.next('error')
      await call({ payment }).expect(503)
      const { rows } = await gateway.pool.query<{ seconds: string }>(
        'SELECT extract(epoch FROM next_attempt_at - updated_at) AS seconds FROM payments WHERE wallet = $1',
        [wallet.address],
      )
      waits.push(Math.round(Number(rows[0]!.seconds)))
      await timePasses()
    }
    expect(waits).toEqual([2, 4, 8, 16, 30, 30, 30])
    await gateway.reconcile()
    expect(await creditsOf(wallet)).toBe(100n)
  })
})

describe('a crash', () => {
  async function leftBehind(status: string) {
    const wallet = gateway.wallet()
    const plan = await openCatalog(gateway.database, gateway.clock.now).findPlan(1)
    const payment = await signPayment(wallet.signer, { payTo: plan!.payTo, amount: plan!.amount.toString() })
    const request = {
      x402Version: 1,
      paymentPayload: x402(payment),
      paymentRequirements: requirementsOf(plan!, 'https://gateway.example/rpc'),
    }
    const { nonce } = payment.authorization
    const id = await insertPayment(gateway.pool, {
      wallet: wallet.address,
      credits: 100,
      status,
      request,
      nonce,
    })
    return { wallet, id }
  }

  test.each([
    ['before the settle request', 'received', 1],
    ['during the settle request', 'settling', 1],
    ['after it had settled, before the grant', 'settled', 0],
  ])('%s is repaired once, by any replica that starts', async (_, status, asked) => {
    const { wallet } = await leftBehind(status)
    await Promise.all([gateway.reconcile(), replica.reconcile(), gateway.reconcile()])
    await timePasses()
    await Promise.all([gateway.reconcile(), replica.reconcile()])
    expect([await creditsOf(wallet), await statusOf(wallet)]).toEqual([100n, ['credited']])
    expect([settleRequestsOf(wallet).length, settlementsOf(wallet).length]).toEqual([asked, asked])
  })

  test('between the settlement and its record charges no wallet twice', async () => {
    const { wallet, id } = await leftBehind('settling')
    const written = await gateway.payments.find(id)
    await fetch(`${gateway.facilitator.url}/settle`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': id,
        'x-client-id': clientKey.id,
        'x-client-token': clientKey.token,
      },
      body: JSON.stringify(written!.request),
    })
    expect(settlementsOf(wallet)).toHaveLength(1)

    await gateway.reconcile()
    expect([await creditsOf(wallet), settlementsOf(wallet).length]).toEqual([100n, 1])
  })

  test('is not confused with a replica whose settle request is open', async () => {
    const wallet = gateway.wallet()
    const { token } = await wallet.signIn()
    const payment = await wallet.pay()
    const release = gateway.facilitator.hold()
    const call = replica.api
      .post('/rpc')
      .set({ authorization: `Bearer ${token}`, 'x-payment': payment })
      .send({
        ecosystem: 'evm',
        chain_id: '84532',
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: {},
      })
      .then(outcomeOf)
    while (settleRequestsOf(wallet).length === 0) await new Promise(setImmediate)
    await gateway.reconcile()
    release()
    expect(await call).toEqual([200, undefined])
    expect(settleRequestsOf(wallet)).toHaveLength(1)
    expect(decodeJson(payment)).toEqual(settleRequestsOf(wallet)[0]!.request.paymentPayload)
  })

  test('with a slow settle request does not delay others', async () => {
    const slow = await leftBehind('settling')
    const release = gateway.facilitator.hold()
    const reconciler = startReconciler({ ...replica, logger })
    try {
      while (settleRequestsOf(slow.wallet).length === 0) await delay(10)
      const { wallet } = await leftBehind('settled')
      while ((await creditsOf(wallet)) === 0n) await delay(10)
      // Its settle request is still open.
      expect(await gateway.payments.find(slow.id)).toMatchObject({ status: 'settling', errorReason: null })
    } finally {
      release()
      await reconciler.stop()
    }
    expect(await statusOf(slow.wallet)).toEqual(['credited'])
  })

  test('leaves ended payments unchanged', async () => {
    const { wallet } = await leftBehind('failed')
    await gateway.reconcile()
    expect([await creditsOf(wallet), await statusOf(wallet), settleRequestsOf(wallet)]).toEqual([
      0n,
      ['failed'],
      [],
    ])
  })
})
