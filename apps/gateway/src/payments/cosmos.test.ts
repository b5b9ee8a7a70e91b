import { decodeJson, encodeJson, PaymentRequiredV2, SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations } from '../testing/accounts'
import { cosmosPlanOf } from '../testing/catalog'
import { cosmosX402, signSend, type SignedSend } from '../testing/cosmos-payment'
import { type CosmosWallet } from '../testing/cosmos-wallet'
import { cosmosFeePayer } from '../testing/facilitator'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createCall } from '../testing/wallet'

const plan = cosmosPlanOf({ id: 3 })

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(plan)
  await gateway.reapply()
})
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const cheaper = {
  scheme: 'exact',
  network: 'osmosis-1',
  maxAmountRequired: '1',
  resource: 'https://evil.example',
  description: '',
  mimeType: '',
  payTo: 'osmo1pqyqszqgpqyqszqgpqyqszqgpqyqszqgvpz0sn',
  maxTimeoutSeconds: 60,
  asset: 'uatom',
}

const forms: [string, (signed: SignedSend) => string][] = [
  [
    'base64 of the payload and its requirements',
    (signed) => encodeJson({ paymentPayload: cosmosX402(signed), paymentRequirements: cheaper }),
  ],
  [
    'the same, with what was signed as an object',
    (signed) =>
      encodeJson({ paymentPayload: { ...cosmosX402(signed), payload: signed }, paymentRequirements: {} }),
  ],
  ['the x402 payload in base64', (signed) => encodeJson(cosmosX402(signed))],
  ['the x402 payload as JSON', (signed) => JSON.stringify(cosmosX402(signed))],
  [
    'the x402 payload for a CAIP-2 network',
    (signed) => encodeJson({ ...cosmosX402(signed), network: 'cosmos:osmosis-1' }),
  ],
  ['what was signed, in base64', (signed) => encodeJson(signed)],
  ['what was signed, in base64url', (signed) => Buffer.from(JSON.stringify(signed)).toString('base64url')],
  ['what was signed, as JSON', (signed) => JSON.stringify(signed)],
]

async function customer() {
  const wallet = gateway.cosmosWallet({ plan })
  return { wallet, ...(await wallet.signIn()) }
}
const creditsOf = ({ address }: CosmosWallet) => balanceOf(gateway.ledger, address, plan.id)
const paymentsOf = async ({ address }: CosmosWallet) =>
  (
    await gateway.pool.query<{ status: string; nonce: string; wallet: string }>(
      'SELECT status, nonce, wallet FROM payments WHERE payer = $1 ORDER BY created_at, nonce',
      [address],
    )
  ).rows
const askedSince = (before: number) => gateway.facilitator.calls.slice(before)
const asked = () => gateway.facilitator.calls.length

describe('the payment of a Cosmos wallet', () => {
  test.each(forms)("may be %s, and is settled with the plan's requirements", async (_, write) => {
    const { wallet, call } = await customer()
    const before = asked()
    const answer = await call({ payment: write(signSend(wallet)) }).expect(200)
    expect(await creditsOf(wallet)).toBe(99n)
    expect(SettleResult.parse(decodeJson(String(answer.headers['x-payment-response'])))).toMatchObject({
      success: true,
      network: 'osmosis-1',
      payer: wallet.address,
    })
    expect(SettleResult.parse(decodeJson(String(answer.headers['payment-response'])))).toMatchObject({
      success: true,
      network: 'cosmos:osmosis-1',
    })
    expect(askedSince(before).map(({ request }) => request.paymentRequirements)).toEqual([
      {
        scheme: 'exact',
        network: 'osmosis-1',
        maxAmountRequired: '10000',
        resource: 'https://gateway.example/rpc',
        description: '100 credits for RPC calls (plan Starter)',
        mimeType: 'application/json',
        payTo: plan.pay_to,
        maxTimeoutSeconds: 60,
        asset: 'uosmo',
      },
    ])
  })

  test('is one purchase in each of these forms', async () => {
    const { wallet, call } = await customer()
    const before = asked()
    const signed = signSend(wallet, plan, { sequence: 3 })
    for (const [, write] of forms) await call({ payment: write(signed) }).expect(200)
    expect(askedSince(before)).toHaveLength(1)
    expect(await creditsOf(wallet)).toBe(100n - BigInt(forms.length))
    expect(await paymentsOf(wallet)).toEqual([
      { status: 'credited', nonce: 'sequence 3', wallet: wallet.address },
    ])
  })

  test('may be sent in PAYMENT-SIGNATURE, with the accepted requirements', async () => {
    const { wallet, call } = await customer()
    const { headers } = await call().expect(402)
    const { accepts } = PaymentRequiredV2.parse(decodeJson(String(headers['payment-required'])))
    const [offer] = accepts
    const granter = String(offer!.extra!['feePayer'])
    const payload = signSend(wallet, plan, { granter })
    const write = (accepted: object) => encodeJson({ x402Version: 2, accepted, payload })
    for (const changes of [{ network: 'eip155:1' }, { asset: 'uatom' }, { payTo: wallet.address }])
      expect((await call({ paymentSignature: write({ ...offer, ...changes }) })).status).toBe(402)
    expect(await paymentsOf(wallet)).toEqual([])
    await call({ paymentSignature: write({ ...offer, payTo: offer!.payTo.toUpperCase() }) }).expect(200)
    expect(await creditsOf(wallet)).toBe(99n)
  })

  test('of another wallet, or of the same account on another chain, buys nothing', async () => {
    const [owner, thief] = [await customer(), await customer()]
    const elsewhere = gateway.cosmosWallet({ plan, prefix: 'cosmos' })
    const before = asked()
    const signed = signSend(owner.wallet)
    for (const [, write] of forms) expect((await thief.call({ payment: write(signed) })).status).toBe(402)
    const otherPrefix = { ...elsewhere, address: elsewhere.addressOn('osmo') }
    const foreign = await (await elsewhere.signIn()).call({ payment: encodeJson(signSend(otherPrefix)) })
    expect([foreign.status, foreign.body]).toMatchObject([402, { paymentRequirements: { asset: 'uosmo' } }])
    expect(askedSince(before)).toEqual([])
    expect([await creditsOf(thief.wallet), await paymentsOf(owner.wallet)]).toEqual([0n, []])
    await owner.call({ payment: encodeJson(signed) }).expect(200)
  })

  test('buys nothing for a wallet of another ecosystem that copied it, and does not block its payer', async () => {
    const { wallet, call } = await customer()
    const thief = await gateway
      .wallet()
      .signIn({ x402_chain_id: plan.chain_id, x402_ecosystem: 'cosmos', pricing_plan_id: plan.id })
    const before = asked()
    const payment = encodeJson(signSend(wallet))
    const stolen = await createCall(gateway.api, thief.token)({ payment })
    expect([stolen.status, asked() - before, await paymentsOf(wallet)]).toEqual([402, 0, []])
    await call({ payment }).expect(200)
    expect(await creditsOf(wallet)).toBe(99n)
  })

  test('counts once for each sequence: a second payment under a used sequence buys nothing', async () => {
    const { wallet, call } = await customer()
    const before = asked()
    await call({ payment: encodeJson(signSend(wallet, plan, { sequence: 5 })) }).expect(200)
    await call({ payment: encodeJson(signSend(wallet, plan, { sequence: 5, memo: 'again' })) }).expect(200)
    expect([await creditsOf(wallet), askedSince(before).length]).toEqual([98n, 1])
    await call({ payment: encodeJson(signSend(wallet, plan, { sequence: 6 })) }).expect(200)
    expect(await creditsOf(wallet)).toBe(197n)
  })

  test.each([
    ['alone', undefined],
    ['with the fee payer', cosmosFeePayer],
  ])(
    'signed %s that was refused is accepted under the same sequence once the payer has fixed the cause',
    async (_, feePayer) => {
      const { wallet, call } = await customer()
      const payment = encodeJson(signSend(wallet, plan, { ...(feePayer && { feePayer }) }))
      gateway.facilitator.refuse('insufficient_funds')
      const refused = await call({ payment })
      gateway.facilitator.refuse(undefined)
      expect([refused.status, (refused.body as { message: string }).message]).toEqual([
        402,
        expect.stringContaining('refused (insufficient_funds) and nothing was charged'),
      ])
      // Wallet signatures are deterministic.
      await call({ payment }).expect(200)
      expect(await creditsOf(wallet)).toBe(99n)
      expect((await paymentsOf(wallet)).map(({ status }) => status)).toEqual(['failed', 'credited'])
    },
  )

  test('that is pending is retried and never answered with a new 402', async () => {
    const { wallet, call } = await customer()
    const payment = encodeJson(signSend(wallet))
    gateway.facilitator.next('pending')
    for (const answer of [await call({ payment }), await call()])
      expect(outcomeOf(answer)).toEqual([503, 'PAYMENT_PENDING'])
    const other = encodeJson(signSend(wallet, plan, { memo: 'impatient' }))
    expect(outcomeOf(await call({ payment: other }))).toEqual([503, 'PAYMENT_PENDING'])
    expect(await paymentsOf(wallet)).toMatchObject([{ status: 'settling' }])
  })

  test('beside another in X-PAYMENT is 400, and neither is charged', async () => {
    const { wallet, token } = await customer()
    const call = createCall(gateway.api, token)
    const before = asked()
    const [one, other] = [0, 1].map((sequence) => encodeJson(signSend(wallet, plan, { sequence })))
    const answer = await call({ payment: one!, paymentSignature: other! })
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    await call({ payment: one!, paymentSignature: one! }).expect(200)
    expect([await creditsOf(wallet), askedSince(before).length]).toEqual([99n, 1])
  })

  const withMember = (changes: object) => (signed: SignedSend) =>
    encodeJson({ ...signed, payment: { ...signed.payment, ...changes } })
  test.each<[string, (signed: SignedSend) => string]>([
    ['no transaction', withMember({ txBase64: undefined })],
    ['a transaction in hex', withMember({ txBase64: 'zz' })],
    [
      'a transaction that is cut short',
      (signed) => withMember({ txBase64: signed.payment.txBase64.slice(0, 40) })(signed),
    ],
    ['more than any payment', withMember({ memo: 'x'.repeat(9_500) })],
    ['an amount with an exponent', withMember({ amount: '1e4' })],
    ['an amount in hexadecimal', withMember({ amount: '0x2710' })],
    ['an amount with a zero in front', withMember({ amount: '010000' })],
    ['an amount as a number', withMember({ amount: 10_000 })],
    ['a payer that is not an address', withMember({ payer: 'osmo1payer' })],
    ['a payer of another ecosystem', withMember({ payer: `0x${'1'.repeat(40)}` })],
    ['no payment', (signed) => encodeJson({ ...signed, payment: undefined })],
    ['a list', (signed) => encodeJson([signed])],
    ['an EVM payment', () => encodeJson({ signature: `0x${'1b'.repeat(65)}`, authorization: {} })],
  ])('that contains %s is 400, without a settle request', async (_, write) => {
    const { wallet, call } = await customer()
    const before = asked()
    const answer = await call({ payment: write(signSend(wallet)) })
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect([askedSince(before), await paymentsOf(wallet)]).toEqual([[], []])
  })
})
