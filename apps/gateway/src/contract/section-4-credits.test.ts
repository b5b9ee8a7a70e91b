import { decodeJson, encodeJson, type PaymentRequired, type PaymentRequiredV2 } from '@tollgate/protocol'
import { balanceOf } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { typesOf } from '../testing/fields'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { signPayment, usdc, x402V2 } from '../testing/payment'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(() => auditAndClose(gateway))

const terms = { payTo: planOf().pay_to, amount: planOf().amount }
const resource = 'https://gateway.example/credits'

async function signedIn() {
  const wallet = gateway.wallet()
  return { wallet, ...(await wallet.signIn()) }
}

describe('4. POST /credits, without a payment', () => {
  test('402 | the offer of POST /rpc for this URL, also beside credits, and not stored by caches', async () => {
    const { wallet, buy, call } = await signedIn()
    const called = await call().expect(402)
    await gateway.fund(wallet.address, 5)
    const asked = await buy().expect(402)
    const forCredits = (text: string) => JSON.parse(text.replaceAll('/rpc', '/credits')) as object
    expect(asked.body).toEqual({
      ...forCredits(called.text),
      message: 'Plan 1 sells 100 credits for 0.01 USDC; send the signed payment in X-PAYMENT',
    })
    const offerIn = ({ headers }: typeof asked) => decodeJson(String(headers['payment-required']))
    expect(offerIn(asked)).toEqual(forCredits(JSON.stringify(offerIn(called))))
    expect(offerIn(asked)).toMatchObject({ x402Version: 2, resource: { url: resource } })
    expect(asked.body).toMatchObject({
      paymentRequirements: { network: '84532', asset: usdc, maxAmountRequired: '10000', payTo: terms.payTo },
      accepts: [{ resource }],
    })
    expect(asked.headers['cache-control']).toBe('no-store')
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(5n)
  })

  test('body | none: a small one is ignored, whatever it is', async () => {
    const { buy } = await signedIn()
    for (const body of ['{}', '{', 'x'.repeat(1_000)])
      await buy().set('Content-Type', 'application/json').send(body).expect(402)
  })
})

describe('4. POST /credits, with a payment', () => {
  test('200 | what it bought, and what the wallet has, with the receipt in both headers', async () => {
    const { wallet, buy } = await signedIn()
    await gateway.fund(wallet.address, 5)
    const answer = await buy(await wallet.pay()).expect(200)
    expect(typesOf(answer.body)).toEqual({
      pricing_plan_id: 'integer',
      credits: 'integer',
      transaction: 'string',
      network: 'string',
      remaining_credits: 'integer',
    })
    const { transaction } = answer.body as { transaction: string }
    expect(answer.body).toMatchObject({
      pricing_plan_id: 1,
      credits: 100,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      network: 'base-sepolia',
      remaining_credits: 105,
    })
    for (const [header, network] of [
      ['x-payment-response', 'base-sepolia'],
      ['payment-response', 'eip155:84532'],
    ] as const)
      expect(decodeJson(String(answer.headers[header]))).toMatchObject({
        success: true,
        transaction,
        network,
        payer: wallet.address,
      })
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(105n)
    expect(gateway.facilitator.settlements.at(-1)?.request.paymentRequirements.resource).toBe(resource)
  })

  test('PAYMENT-SIGNATURE | x402 version 2, for the offer of the 402', async () => {
    const { wallet, buy } = await signedIn()
    const asked = await buy().expect(402)
    const offer = decodeJson(String(asked.headers['payment-required'])) as PaymentRequiredV2
    const signed = await signPayment(wallet.signer, terms)
    await buy(encodeJson(x402V2(signed, offer)), 'PAYMENT-SIGNATURE').expect(200)
    const other = encodeJson(x402V2(await signPayment(wallet.signer, terms), offer, { amount: '1' }))
    const refused = await buy(other, 'PAYMENT-SIGNATURE').expect(402)
    expect((refused.body as PaymentRequired).error).toBe('invalid_payment_requirements')
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(100n)
  })

  test.each(['nonsense', '{}', 'e30='])('X-PAYMENT | %s is no payment: 400', async (payment) => {
    const { buy } = await signedIn()
    expect(outcomeOf(await buy(payment))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('the same payment again, here or with a call, is the same purchase, charged once', async () => {
    const { wallet, buy, call } = await signedIn()
    const payment = await wallet.pay()
    const settled = gateway.facilitator.settlements.length
    const first = await buy(payment).expect(200)
    await call({ payment }).expect(200)
    const again = await (await wallet.signIn()).buy(payment).expect(200)
    expect(again.body).toEqual({ ...(first.body as object), remaining_credits: 99 })
    expect(again.headers['x-payment-response']).toBe(first.headers['x-payment-response'])
    expect(gateway.facilitator.settlements).toHaveLength(settled + 1)
  })

  test('pages of every origin may send it, and read the receipt', async () => {
    const { buy, wallet } = await signedIn()
    const origin = 'https://wallet.example'
    const asked = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,x-payment',
    }
    await gateway.api.options('/credits').set(asked).expect(204).expect('Access-Control-Allow-Origin', '*')
    const { headers } = await buy(await wallet.pay()).set({ origin })
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['access-control-expose-headers']).toContain('X-PAYMENT-RESPONSE')
  })
})
