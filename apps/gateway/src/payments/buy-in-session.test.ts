import { decodeJson, type PaymentRequired } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createBuy, createCall, type TestWallet } from '../testing/wallet'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  replica = await testGateway({ beside: gateway })
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Other' }))
  await gateway.reapply()
})
afterEach(async () => {
  await Promise.all([gateway, replica].map(({ ledger }) => ledger.drain()))
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

async function signedIn() {
  const wallet = gateway.wallet()
  return { wallet, ...(await wallet.signIn()) }
}
const requestsOf = (calls: typeof gateway.facilitator.calls, { address }: TestWallet) =>
  calls.filter(({ request }) => JSON.stringify(request).includes(address))
const creditsOf = ({ address }: TestWallet, planId = 1) => balanceOf(gateway.ledger, address, planId)
const paymentsOf = async ({ address }: TestWallet) => {
  const text = 'SELECT id FROM payments WHERE payer = $1 OR wallet = $1'
  return (await gateway.pool.query(text, [address])).rowCount
}
const dueNow = ({ address }: TestWallet) =>
  gateway.pool.query("UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE wallet = $1", [
    address,
  ])
const messageOf = ({ body }: { body: unknown }) => (body as PaymentRequired).message
const errorIn = ({ headers }: { headers: Record<string, string> }) =>
  (decodeJson(String(headers['x-payment-response'])) as { errorReason: string }).errorReason

test('one payment twenty times at once, as purchases and with calls, to two replicas, is one grant', async () => {
  const { wallet, token } = await signedIn()
  const payment = await wallet.pay()
  const release = gateway.facilitator.hold()
  const sent = Array.from({ length: 20 }, (_, index) => {
    const { api } = [gateway, replica][index % 2]!
    return index % 4 < 2
      ? createBuy(api, token)(payment).then((answer) => [answer.status, answer.body] as const)
      : createCall(api, token)({ payment }).then((answer) => [answer.status, undefined] as const)
  })
  while (requestsOf(gateway.facilitator.calls, wallet).length === 0) await new Promise(setImmediate)
  release()

  const answers = await Promise.all(sent)
  expect(answers.map(([status]) => status)).toEqual(sent.map(() => 200))
  const purchases = answers.flatMap(([, body]) => (body ? [body as Record<string, unknown>] : []))
  expect(new Set(purchases.map(({ transaction }) => transaction)).size).toBe(1)
  for (const { credits } of purchases) expect(credits).toBe(100)
  expect(requestsOf(gateway.facilitator.settlements, wallet)).toHaveLength(1)
  expect([await paymentsOf(wallet), await creditsOf(wallet)]).toEqual([1, 90n])
})

test('two payments buy twice', async () => {
  const { wallet, buy } = await signedIn()
  const payments = [await wallet.pay(), await wallet.pay()]
  for (const payment of payments) await buy(payment).expect(200)
  expect((await buy(payments[0])).body).toMatchObject({ credits: 100, remaining_credits: 200 })
  expect(await creditsOf(wallet)).toBe(200n)
})

test('a payment that bought on another plan is that purchase, and buys nothing on this one', async () => {
  const { wallet, buy } = await signedIn()
  const payment = await wallet.pay()
  const bought = await buy(payment).expect(200)
  const elsewhere = await wallet.signIn({ pricing_plan_id: 2 })
  expect((await elsewhere.buy(payment).expect(200)).body).toEqual(bought.body)
  expect([await creditsOf(wallet), await creditsOf(wallet, 2)]).toEqual([100n, 0n])
})

test('another wallet’s payment buys nothing, and stays valid for its owner', async () => {
  const [owner, thief] = [await signedIn(), await signedIn()]
  const payment = await owner.wallet.pay()
  const refused = await thief.buy(payment).expect(402)
  expect(messageOf(refused)).toContain('not the wallet that is signed in')
  expect(errorIn(refused)).toBe('invalid_payment')
  expect([await creditsOf(thief.wallet), await paymentsOf(owner.wallet)]).toEqual([0n, 0])
  await owner.buy(payment).expect(200)
  expect((await thief.buy(payment)).status).toBe(402)
  expect([await creditsOf(thief.wallet), await creditsOf(owner.wallet)]).toEqual([0n, 100n])
})

test('an ended session is asked for nothing and buys nothing, also with a payment that is good', async () => {
  const { wallet, token, buy } = await signedIn()
  const payment = await wallet.pay()
  await gateway.api.post('/auth/logout').set('Authorization', `Bearer ${token}`).expect(200)
  for (const answer of [await buy(), await buy(payment)])
    expect(outcomeOf(answer)).toEqual([403, 'REVOKED_TOKEN'])
  expect([await paymentsOf(wallet), requestsOf(gateway.facilitator.calls, wallet)]).toEqual([0, []])
  await (await wallet.signIn()).buy(payment).expect(200)
})

test('while a payment is open, no other is asked for, and it is credited once in the end', async () => {
  const { wallet, buy } = await signedIn()
  const payment = await wallet.pay()
  gateway.facilitator.next('pending')
  const pending = [503, 'PAYMENT_PENDING']
  const first = await buy(payment)
  expect(outcomeOf(first)).toEqual(pending)
  expect(Number(first.headers['retry-after'])).toBeGreaterThan(0)
  expect(outcomeOf(await buy())).toEqual(pending)
  expect(outcomeOf(await buy(await wallet.pay(planOf({ amount: '9999' }))))).toEqual(pending)

  await dueNow(wallet)
  await gateway.reconcile()
  expect((await buy(payment).expect(200)).body).toMatchObject({ credits: 100, remaining_credits: 100 })
  await buy().expect(402)
  expect(await creditsOf(wallet)).toBe(100n)
})

test('a lost answer of the facilitator is no refusal', async () => {
  const { wallet, buy } = await signedIn()
  const payment = await wallet.pay()
  gateway.facilitator.next('lost')
  expect(outcomeOf(await buy(payment))).toEqual([503, 'PAYMENT_PENDING'])
  await dueNow(wallet)
  await buy(payment).expect(200)
  expect(requestsOf(gateway.facilitator.settlements, wallet)).toHaveLength(1)
})

test('a payment that moved another amount is 409, and the wallet is asked for no other', async () => {
  const { wallet, buy } = await signedIn()
  const payment = await wallet.pay()
  gateway.facilitator.next('mismatch')
  const disputed = [409, 'PAYMENT_DISPUTED']
  const first = await buy(payment)
  expect([outcomeOf(first), errorIn(first)]).toEqual([disputed, 'transfer_event_mismatch'])
  await gateway.fund(wallet.address, 5)
  for (const answer of [await buy(payment), await buy()]) expect(outcomeOf(answer)).toEqual(disputed)
})

test('a refused payment is 402 with its reason, and nothing was charged', async () => {
  const { wallet, buy } = await signedIn()
  gateway.facilitator.refuse('insufficient_funds')
  const refused = await buy(await wallet.pay())
  gateway.facilitator.refuse(undefined)
  expect(refused.status).toBe(402)
  expect([errorIn(refused), (refused.body as PaymentRequired).error]).toEqual([
    'insufficient_funds',
    'insufficient_funds',
  ])
  expect(messageOf(refused)).toBe(
    'The payment was refused (insufficient_funds) and nothing was charged; pay 0.01 USDC and send the signed payment in X-PAYMENT',
  )
  expect(await creditsOf(wallet)).toBe(0n)
})

test('a facilitator that bears no more fees is 503: the same payment again, not another', async () => {
  const { wallet, buy } = await signedIn()
  gateway.facilitator.refuse('fee_allowance_exceeded')
  const answer = await buy(await wallet.pay())
  gateway.facilitator.refuse(undefined)
  expect(outcomeOf(answer)).toEqual([503, 'OVERLOADED'])
  expect(answer.headers['retry-after']).toBe('30')
})

test('a retired plan sells nothing, and a payment that bought on it before is answered', async () => {
  gateway.catalog.plans.push(planOf({ id: 7, credits: 3 }))
  await gateway.reapply()
  const wallet = gateway.wallet()
  const { buy } = await wallet.signIn({ pricing_plan_id: 7 })
  const payment = await wallet.pay()
  const bought = await buy(payment).expect(200)
  gateway.catalog.plans.pop()
  await gateway.reapply()
  const asked = gateway.facilitator.calls.length
  for (const answer of [await buy(), await buy(await wallet.pay())])
    expect(outcomeOf(answer)).toEqual([404, 'NOT_FOUND'])
  expect((await buy(payment).expect(200)).body).toEqual(bought.body)
  expect(gateway.facilitator.calls).toHaveLength(asked)
})

test('purchases count with calls against the rate limit of their wallet', async () => {
  const limited = await testGateway({ beside: gateway, environment: { RATE_LIMIT_RPC_PER_MINUTE: 3 } })
  const [often, seldom] = [await limited.wallet().signIn(), await limited.wallet().signIn()]
  await often.buy().expect(402)
  await often.call().expect(402)
  const last = await often.buy().expect(402)
  expect(last.headers['ratelimit-policy']).toContain('"rpc";q=3')
  expect(outcomeOf(await often.buy())).toEqual([429, 'RATE_LIMITED'])
  expect(outcomeOf(await often.call())).toEqual([429, 'RATE_LIMITED'])
  await seldom.buy().expect(402)
})

test('new payments have the same limit as with calls', async () => {
  const limited = await testGateway({ beside: gateway, environment: { RATE_LIMIT_PAYMENTS_PER_MINUTE: 2 } })
  const wallet = limited.wallet()
  const { buy, call } = await wallet.signIn()
  const payment = await wallet.pay()
  await buy(payment).expect(200)
  await call({ payment: await wallet.pay() }).expect(200)
  expect(outcomeOf(await buy(await wallet.pay()))).toEqual([429, 'RATE_LIMITED'])
  await buy(payment).expect(200)
})
