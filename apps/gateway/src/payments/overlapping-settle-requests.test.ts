import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations, insertPayment } from '../testing/accounts'
import { type Behaviour } from '../testing/facilitator'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createCall, type TestWallet } from '../testing/wallet'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ settleTimeoutMs: 1_000 })
  replica = await testGateway({ beside: gateway, settleTimeoutMs: 1_000 })
})
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const creditsOf = ({ address }: TestWallet) => balanceOf(gateway.ledger, address)
const about = (wallet: TestWallet, settleRequests: readonly { request: unknown }[]) =>
  settleRequests.filter(({ request }) => JSON.stringify(request).includes(wallet.address)).length
const statusOf = async ({ address }: TestWallet) => {
  const text = 'SELECT status FROM payments WHERE wallet = $1'
  return (await gateway.pool.query<{ status: string }>(text, [address])).rows[0]!.status
}
/**
 * Makes the payment's next settle request due; after `minutes`, earlier requests can no longer be answered.
 */
const timePasses = ({ address }: TestWallet, minutes = 0) =>
  gateway.pool.query(
    `UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second', asked_at = asked_at - make_interval(mins => $2) WHERE wallet = $1`,
    [address, minutes],
  )

async function settleTwice(first: Behaviour, second: Behaviour) {
  const wallet = gateway.wallet()
  const { token } = await wallet.signIn()
  const payment = await wallet.pay()
  const call = ({ api }: TestGateway) => createCall(api, token)({ payment }).then(outcomeOf)
  const asked = async (count: number) => {
    while (about(wallet, gateway.facilitator.calls) < count) await new Promise(setImmediate)
  }
  gateway.facilitator.next(first, second)
  const releaseFirst = gateway.facilitator.hold()
  const older = call(gateway)
  await asked(1)
  await timePasses(wallet)
  const releaseSecond = gateway.facilitator.hold()
  const newer = call(replica)
  await asked(2)
  return { wallet, call, older, newer, releaseFirst, releaseSecond }
}

async function paymentIs({ address }: TestWallet, condition: string) {
  const text = `SELECT FROM payments WHERE wallet = $1 AND ${condition}`
  const deadline = performance.now() + 20_000
  while ((await gateway.pool.query(text, [address])).rowCount === 0)
    if (performance.now() > deadline) throw new Error(`The payment does not come to be so: ${condition}`)
}
const refused = "error_reason = 'invalid_payment'"
const silentFor = (seconds: number) => `next_attempt_at > now() + interval '${seconds} seconds'`

describe('a payment that two replicas settle at once', () => {
  test('is credited if the older settle request is refused and the newer one settles', async () => {
    const { wallet, older, newer, releaseFirst, releaseSecond } = await settleTwice('denied', 'settle')
    releaseFirst()
    releaseSecond()
    expect(await Promise.all([older, newer])).toEqual([
      [200, undefined],
      [200, undefined],
    ])
    expect([await statusOf(wallet), await creditsOf(wallet)]).toEqual(['credited', 98n])
  })

  test('is credited if the newer settle request is refused first and the older one settles', async () => {
    const { wallet, older, newer, releaseFirst, releaseSecond } = await settleTwice('settle', 'denied')
    releaseSecond()
    await paymentIs(wallet, refused)
    releaseFirst()
    const statuses = (await Promise.all([older, newer])).map(([status]) => status)
    expect(statuses).not.toContain(402)
    expect([await statusOf(wallet), about(wallet, gateway.facilitator.settlements)]).toEqual(['credited', 1])
  })

  test.each(['lost', 'pending', 'error', 'hang'] as const)(
    'stays open if one request is refused and the other gets: %s',
    async (behaviour) => {
      const { wallet, call, older, newer, releaseFirst, releaseSecond } = await settleTwice(
        'denied',
        behaviour,
      )
      releaseFirst()
      releaseSecond()
      const pending = [503, 'PAYMENT_PENDING']
      expect(await Promise.all([older, newer])).toEqual([pending, pending])
      await timePasses(wallet)
      await replica.reconcile()
      expect([await statusOf(wallet), await creditsOf(wallet)]).toEqual(['credited', 100n])
      expect(about(wallet, gateway.facilitator.settlements)).toBe(1)
      expect(await call(gateway)).toEqual([200, undefined])
    },
  )

  test('fails even if refusals are slow: after one refusal requests pause, and the next is alone', async () => {
    const { wallet, older, newer, releaseFirst, releaseSecond } = await settleTwice('denied', 'denied')
    releaseFirst()
    await paymentIs(wallet, silentFor(100))
    releaseSecond()
    await Promise.all([older, newer])
    await paymentIs(wallet, silentFor(100))

    const asked = about(wallet, gateway.facilitator.calls)
    gateway.facilitator.next('denied')
    const release = gateway.facilitator.hold()
    await timePasses(wallet, 3)
    const alone = gateway.reconcile()
    while (about(wallet, gateway.facilitator.calls) === asked) await new Promise(setImmediate)
    await paymentIs(wallet, silentFor(45)).finally(release)
    await alone
    expect(await statusOf(wallet)).toBe('failed')
  })

  test('fails only once it is refused with no other settle request open', async () => {
    const { wallet, call, older, newer, releaseFirst, releaseSecond } = await settleTwice('denied', 'denied')
    releaseFirst()
    releaseSecond()
    const pending = [503, 'PAYMENT_PENDING']
    expect(await Promise.all([older, newer])).toEqual([pending, pending])

    for (const [minutes, status] of [
      [1, 'settling'],
      [3, 'failed'],
    ] as const) {
      gateway.facilitator.next('denied')
      await timePasses(wallet, minutes)
      await gateway.reconcile()
      expect([minutes, await statusOf(wallet)]).toEqual([minutes, status])
    }
    expect((await call(gateway))[0]).toBe(402)
    expect(await creditsOf(wallet)).toBe(0n)
  })
})

test.each([
  ['had no settle request', 'NULL', 0, [true]],
  ['had a settle request half a minute ago', "now() - interval '30 seconds'", 1, [false]],
  ['had a settle request long ago', "now() - interval '3 minutes'", 1, [true]],
  ['has been credited', 'now()', -1, []],
])(
  'of fifty callers that lease a payment that %s, at most one succeeds',
  async (_, askedAt, attempts, alone) => {
    for (let round = 0; round < 20; round++) {
      const { address } = gateway.wallet()
      const status = attempts < 0 ? 'credited' : 'settling'
      const id = await insertPayment(gateway.pool, { wallet: address, credits: 100, status: 'settling' })
      await gateway.pool.query(
        `UPDATE payments SET asked_at = ${askedAt}, attempts = $2, status = $3 WHERE id = $1`,
        [id, Math.max(0, attempts), status],
      )
      const leases = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? gateway : replica).settlements.lease(id, 10)),
      )
      expect(leases.flatMap((leased) => (leased ? [leased.hasNoOpenRequest] : []))).toEqual(alone)
      await gateway.pool.query('DELETE FROM payments WHERE id = $1', [id])
    }
  },
)

describe('a failed payment', () => {
  test('is credited if it settled after all', async () => {
    const { address } = gateway.wallet()
    const id = await insertPayment(gateway.pool, { wallet: address, credits: 100, status: 'failed' })
    await gateway.settlements.markSettled(id, { transaction: `0x${'ab'.repeat(32)}`, blockNumber: 7 })
    await gateway.processor.advance(id)
    expect(await balanceOf(gateway.ledger, address)).toBe(100n)
  })

  test('is open again if a response shows that its outcome is unknown', async () => {
    const { address } = gateway.wallet()
    const id = await insertPayment(gateway.pool, { wallet: address, credits: 100, status: 'failed' })
    await gateway.settlements.scheduleRetry(id, 'settlement_pending', null, 60)
    expect(await gateway.payments.getWalletStatus(address, 1)).toEqual({
      isPaying: true,
      disputed: null,
      balance: 0n,
      free: null,
    })
  })
})
