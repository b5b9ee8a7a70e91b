import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations, randomAddress, insertPayment } from '../testing/accounts'
import { type Environment } from '../config'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment } from '../testing/payment'
import { planOf } from '../testing/catalog'
import { type TestWallet } from '../testing/wallet'

afterAll(closeAll)

const open = (environment: Partial<Environment>, beside?: TestGateway) =>
  testGateway({ environment: { TRUSTED_PROXIES: 1, ...environment }, ...(beside ? { beside } : {}) })

let addresses = 0
async function buyer(gateway: TestGateway, address = `10.0.${addresses >> 8}.${addresses++ & 255}`) {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const buy = async (payment?: string) =>
    call({ payment: payment ?? (await wallet.pay()) }).set('X-Forwarded-For', address)
  return { wallet, call, buy }
}
const buyers = (gateway: TestGateway, count: number, address?: string) =>
  Promise.all(Array.from({ length: count }, () => buyer(gateway, address)))
const customers = async (gateway: TestGateway, count: number, address?: string) => {
  const found = await buyers(gateway, count, address)
  for (const { wallet } of found) await gateway.fund(wallet.address, 1)
  return found
}
const storedOf = async (gateway: TestGateway, { address }: TestWallet) =>
  (await gateway.pool.query("SELECT FROM payments WHERE wallet = $1 AND nonce LIKE '0x%'", [address]))
    .rowCount
const counted = (outcomes: readonly ReturnType<typeof outcomeOf>[]) => {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) {
    const [status, code] = outcome
    const key = [status, code].filter(Boolean).map(String).join(' ')
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

async function asContract(gateway: TestGateway, { address, signer }: TestWallet) {
  await gateway.pool.query("UPDATE sessions SET signed_by = 'contract' WHERE wallet = $1", [address])
  return async () => {
    const payment = await signPayment(signer, { payTo: planOf().pay_to, amount: planOf().amount })
    return paymentHeader({ ...payment, signature: `0x${'ab'.repeat(100)}` })
  }
}

describe('the new payments of a wallet', () => {
  test('are limited; the one past the limit is 429 with Retry-After, not 402, and neither stored nor settled', async () => {
    const gateway = await open({ RATE_LIMIT_PAYMENTS_PER_MINUTE: 3 })
    const [{ wallet, buy, call }, other] = [await buyer(gateway), await buyer(gateway)]
    const first = await wallet.pay()
    for (const payment of [first, await wallet.pay(), await wallet.pay()])
      expect((await buy(payment)).status).toBe(200)
    const refused = await buy()
    expect(outcomeOf(refused)).toEqual([429, 'RATE_LIMITED'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.body).not.toHaveProperty('accepts')
    expect([await storedOf(gateway, wallet), gateway.facilitator.calls.length]).toEqual([3, 3])

    expect((await buy(first)).status).toBe(200)
    expect((await call()).status).toBe(200)
    expect((await other.buy()).status).toBe(200)
    expect(await findViolations(gateway.pool)).toEqual([])
  })

  test('count once for concurrent calls with the same payment', async () => {
    const gateway = await open({ RATE_LIMIT_PAYMENTS_PER_MINUTE: 1 })
    const { wallet, buy } = await buyer(gateway)
    const payment = await wallet.pay()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => buy(payment).then(outcomeOf)))
    expect(counted(outcomes)).toEqual({ 200: 20 })
    expect(gateway.facilitator.calls).toHaveLength(1)
  })

  test('whose signature only the chain can verify have a third of the limit', async () => {
    const gateway = await open({ RATE_LIMIT_PAYMENTS_PER_MINUTE: 6 })
    const { wallet, buy } = await buyer(gateway)
    const garbage = await asContract(gateway, wallet)
    const statuses = []
    for (let sent = 0; sent < 4; sent++) statuses.push((await buy(await garbage())).status)
    expect([statuses, gateway.facilitator.calls.length]).toEqual([[402, 402, 429, 429], 2])
    expect((await buy()).status).toBe(200)
  })

  test('are refused while the maximum is open, and accepted once one has ended', async () => {
    const gateway = await open({ RATE_LIMIT_PAYMENTS_PER_MINUTE: 3 })
    const { wallet, buy } = await buyer(gateway)
    const left = []
    for (const status of ['received', 'settling', 'settling'])
      left.push(await insertPayment(gateway.pool, { wallet: wallet.address, credits: 1, status }))
    const refused = await buy()
    expect(outcomeOf(refused)).toEqual([429, 'RATE_LIMITED'])
    expect((refused.body as { message: string }).message).toContain('3 payments of this wallet')
    await gateway.pool.query("UPDATE payments SET status = 'failed' WHERE id = $1", [left[0]])
    expect((await buy()).status).toBe(200)
  })
})

describe('the rate of the client key', () => {
  test('is not used up by a wallet that floods: four other buyers are served', async () => {
    const gateway = await open({ RATE_LIMIT_PAYMENTS_PER_MINUTE: 1_000, FACILITATOR_REQUESTS_PER_MINUTE: 40 })
    const flood = await buyer(gateway)
    const flooding = Promise.all(Array.from({ length: 60 }, () => flood.buy().then(outcomeOf)))
    const honest = await Promise.all((await buyers(gateway, 4)).map(({ buy }) => buy().then(outcomeOf)))
    expect(counted(honest)).toEqual({ 200: 4 })
    expect(counted(await flooding)).toEqual({ 200: 4, '429 RATE_LIMITED': 56 })
    expect(gateway.facilitator.calls).toHaveLength(8)
  })

  test('is not used up by many new wallets of one address: buyers elsewhere and customers there are served', async () => {
    const gateway = await open({ FACILITATOR_REQUESTS_PER_MINUTE: 40 })
    const address = '192.0.2.7'
    const outcomes = await Promise.all(
      (await buyers(gateway, 12, address)).map(({ buy }) => buy().then(outcomeOf)),
    )
    expect(counted(outcomes)).toEqual({ 200: 4, '429 RATE_LIMITED': 8 })
    const others = [...(await buyers(gateway, 4)), ...(await customers(gateway, 4, address))]
    expect(counted(await Promise.all(others.map(({ buy }) => buy().then(outcomeOf))))).toEqual({ 200: 8 })
  })

  test('is not used up by new wallets of many addresses: half remains for wallets that have paid before', async () => {
    const gateway = await open({ FACILITATOR_REQUESTS_PER_MINUTE: 40 })
    const outcomes = await Promise.all((await buyers(gateway, 25)).map(({ buy }) => buy().then(outcomeOf)))
    expect(counted(outcomes)).toEqual({ 200: 20, '503 OVERLOADED': 5 })
    const known = await Promise.all((await customers(gateway, 10)).map(({ buy }) => buy().then(outcomeOf)))
    expect(counted(known)).toEqual({ 200: 10 })
  })

  test('is used up to a quarter by payments whose signature only the chain can verify, also of customers', async () => {
    const gateway = await open({ FACILITATOR_REQUESTS_PER_MINUTE: 12 })
    const outcomes = []
    for (const { wallet, buy } of await customers(gateway, 6)) {
      const garbage = await asContract(gateway, wallet)
      outcomes.push(outcomeOf(await buy(await garbage())))
    }
    expect(counted(outcomes)).toEqual({ 200: 3, '503 OVERLOADED': 3 })
    expect(gateway.facilitator.calls).toHaveLength(3)
    const proven = await Promise.all((await customers(gateway, 4)).map(({ buy }) => buy().then(outcomeOf)))
    expect([counted(proven), gateway.facilitator.calls.length]).toEqual([{ 200: 4 }, 7])
  })

  test('if used up postpones a payment, which is settled later and charged once', async () => {
    const gateway = await open({ FACILITATOR_REQUESTS_PER_MINUTE: 3 })
    const found = await customers(gateway, 4)
    const outcomes = []
    for (const { buy } of found) outcomes.push(outcomeOf(await buy()))
    expect(counted(outcomes)).toEqual({ 200: 3, '503 PAYMENT_PENDING': 1 })
    expect(gateway.facilitator.calls).toHaveLength(3)

    const { wallet } = found[3]!
    const later = await open({ FACILITATOR_REQUESTS_PER_MINUTE: 1_000 }, gateway)
    await gateway.pool.query(
      "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE wallet = $1",
      [wallet.address],
    )
    await later.reconcile()
    expect([await balanceOf(gateway.ledger, wallet.address), gateway.facilitator.settlements.length]).toEqual(
      [101n, 4],
    )
    expect(await findViolations(gateway.pool)).toEqual([])
  })

  test('keeps three quarters for new payments, however many old ones are retried', async () => {
    const gateway = await open({ FACILITATOR_REQUESTS_PER_MINUTE: 8 })
    const [retried, fresh] = [await customers(gateway, 3), await customers(gateway, 3)]
    gateway.facilitator.next('error', 'error', 'error')
    for (const { buy } of retried) expect((await buy()).status).toBe(503)
    await gateway.pool.query(
      "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE status = 'settling'",
    )
    gateway.facilitator.next('error', 'error')
    await gateway.reconcile()
    expect(gateway.facilitator.calls).toHaveLength(5)
    expect(counted(await Promise.all(fresh.map(({ buy }) => buy().then(outcomeOf))))).toEqual({ 200: 3 })
  })
})

test('a wallet with many due payments gets a third of those processed at once', async () => {
  const gateway = await open({})
  const [many, few] = [randomAddress(), randomAddress()]
  const wallets = async (count: number, wallet: string) => {
    for (let index = 0; index < count; index++)
      await insertPayment(gateway.pool, { wallet, credits: 1, status: 'settling' })
  }
  await wallets(9, many)
  await gateway.pool.query("UPDATE payments SET next_attempt_at = now() - INTERVAL '1 hour'")
  await wallets(1, few)
  // Stored in whole milliseconds, so it may be slightly ahead.
  await gateway.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 minute' WHERE wallet = $1",
    [few],
  )
  const due = async (busy: string[]) =>
    (await gateway.settlements.findDue({ limit: 6, maxSettled: 4, busyWallets: busy })).map(
      ({ wallet }) => wallet,
    )
  expect(await due([])).toEqual([many, many, few])
  expect(await due([many])).toEqual([many, few])
  expect(await due([many, many])).toEqual([few])
})
