import { decodeJson, encodeJson, PaymentRequiredV2, SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment, x402, x402V2 } from '../testing/payment'
import { type TestWallet } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const terms = () => ({ payTo: planOf().pay_to, amount: planOf().amount })
const creditsOf = ({ address }: TestWallet) => balanceOf(gateway.ledger, address)
const settleRequestsOf = ({ address }: TestWallet) =>
  gateway.facilitator.calls.filter(({ request }) => JSON.stringify(request).includes(address))

async function payer() {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const { headers } = await call().expect(402)
  const required = PaymentRequiredV2.parse(decodeJson(String(headers['payment-required'])))
  const payment = await signPayment(wallet.signer, terms())
  return { wallet, call, payment, required }
}

const receiptsIn = ({ headers }: { headers: Record<string, unknown> }) =>
  ['x-payment-response', 'payment-response'].map((name) => {
    const text = Buffer.from(String(headers[name]), 'base64').toString('ascii')
    return SettleResult.parse(JSON.parse(text))
  })

describe('PAYMENT-SIGNATURE', () => {
  test('pays like X-PAYMENT, and gets the response headers of both versions', async () => {
    const { wallet, call, payment, required } = await payer()
    const answer = await call({ paymentSignature: encodeJson(x402V2(payment, required)) }).expect(200)
    expect(await creditsOf(wallet)).toBe(99n)
    const [first, second] = receiptsIn(answer)
    expect(first).toMatchObject({ success: true, network: 'base-sepolia', payer: wallet.address })
    expect(second).toEqual({ ...first, network: 'eip155:84532' })
    const [{ request }] = settleRequestsOf(wallet) as [ReturnType<typeof settleRequestsOf>[number]]
    expect(request).toMatchObject({
      x402Version: 1,
      paymentPayload: { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: payment },
      paymentRequirements: { network: 'base-sepolia', maxAmountRequired: '10000' },
    })
  })

  test.each<[string, (v2: object) => string]>([
    ['in base64url', (v2) => Buffer.from(JSON.stringify(v2)).toString('base64url')],
    ['as JSON', (v2) => JSON.stringify(v2)],
    ['with requirements of its payer’s', (v2) => encodeJson({ paymentPayload: v2, paymentRequirements: {} })],
  ])('may be %s', async (_, write) => {
    const { wallet, call, payment, required } = await payer()
    await call({ paymentSignature: write(x402V2(payment, required)) }).expect(200)
    expect(await creditsOf(wallet)).toBe(99n)
  })

  test('is the same purchase as X-PAYMENT with the same signed payload', async () => {
    const { wallet, call, payment, required } = await payer()
    const v2 = encodeJson(x402V2(payment, required))
    await call({ payment: paymentHeader(payment) }).expect(200)
    await call({ paymentSignature: v2 }).expect(200)
    await call({ payment: paymentHeader(payment), paymentSignature: v2 }).expect(200)
    await call({ payment: v2 }).expect(200)
    expect([await creditsOf(wallet), settleRequestsOf(wallet).length]).toEqual([96n, 1])
  })

  test('beside an X-PAYMENT with another payment is 400, and neither is charged', async () => {
    const { wallet, call, payment, required } = await payer()
    const other = paymentHeader(await signPayment(wallet.signer, terms()))
    const answer = await call({ payment: other, paymentSignature: encodeJson(x402V2(payment, required)) })
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect([await creditsOf(wallet), settleRequestsOf(wallet).length]).toEqual([0n, 0])
  })

  test.each([
    ['another scheme', { scheme: 'upto' }],
    ['another network', { network: 'eip155:8453' }],
    ['another ecosystem', { network: 'cosmos:84532' }],
    ['one unit less', { amount: '9999' }],
    ['another asset', { asset: `0x${'5'.repeat(40)}` }],
    ['another recipient', { payTo: `0x${'6'.repeat(40)}` }],
  ])('that accepts %s is refused, without a settle request', async (_, changes) => {
    const { wallet, call, payment, required } = await payer()
    const answer = await call({ paymentSignature: encodeJson(x402V2(payment, required, changes)) })
    expect(answer.status).toBe(402)
    for (const receipt of receiptsIn(answer))
      expect(receipt).toMatchObject({ success: false, errorReason: 'invalid_payment_requirements' })
    expect(decodeJson(String(answer.headers['payment-required']))).toMatchObject({
      error: 'invalid_payment_requirements',
    })
    expect([await creditsOf(wallet), settleRequestsOf(wallet)]).toEqual([0n, []])

    await call({ paymentSignature: encodeJson(x402V2(payment, required)) }).expect(200)
    expect(await creditsOf(wallet)).toBe(99n)
  })

  test('that accepts the same address in another letter case is valid', async () => {
    const { call, payment, required } = await payer()
    const payTo = terms().payTo.toLowerCase()
    await call({ paymentSignature: encodeJson(x402V2(payment, required, { payTo })) }).expect(200)
  })

  test('keeps its purchase after a price change', async () => {
    const { wallet, call, payment, required } = await payer()
    const paymentSignature = encodeJson(x402V2(payment, required))
    await call({ paymentSignature }).expect(200)
    const [plan] = gateway.catalog.plans
    const amount = plan!.amount
    Object.assign(plan!, { amount: '20000' })
    await gateway.reapply()
    const again = await call({ paymentSignature }).expect(200)
    for (const receipt of receiptsIn(again)) expect(receipt).toMatchObject({ success: true })
    Object.assign(plan!, { amount })
    await gateway.reapply()
    expect([await creditsOf(wallet), settleRequestsOf(wallet).length]).toEqual([98n, 1])
  })

  test.each<[string, (v2: ReturnType<typeof x402V2>) => object]>([
    ['accepts nothing', (v2) => ({ ...v2, accepted: undefined })],
    ['accepts a number', (v2) => ({ ...v2, accepted: 5 })],
    ['accepts an invalid amount', (v2) => ({ ...v2, accepted: { ...v2.accepted, amount: '1e4' } })],
    ['has no payload', (v2) => ({ ...v2, payload: undefined })],
    ['is of version 3', (v2) => ({ ...v2, x402Version: 3 })],
    [
      'is a payment of version 1 that says it is of version 2',
      ({ payload }) => ({ ...x402(payload), payload: 5 }),
    ],
  ])('that %s is 400, without a settle request', async (_, change) => {
    const { wallet, call, payment, required } = await payer()
    const answer = await call({ paymentSignature: encodeJson(change(x402V2(payment, required))) })
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect(settleRequestsOf(wallet)).toEqual([])
  })
})
