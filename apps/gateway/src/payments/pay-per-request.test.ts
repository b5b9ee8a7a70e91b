import { encodeJson } from '@tollgate/protocol'
import { randomBytes } from 'node:crypto'
import { balanceOf } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { errorIn, receiptIn, payPerRequest } from '../testing/pay-per-request'
import { paymentHeader, signPayment, x402V2 } from '../testing/payment'
import { blockNumber, offerIn } from '../testing/plain'

const world = payPerRequest()
const { call, newPayer, statesOf } = world

describe('a payment without a sign-in', () => {
  test('is settled, credited to its payer, and serves the call', async () => {
    const { address, payment, balance } = await newPayer()
    const answer = await call({ payment })
    expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
    expect(receiptIn(answer)).toMatchObject({ success: true, payer: address })
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '1', 'x-credits-remaining': '99' })
    expect(await balance()).toBe(99n)
  })

  test('of x402 version 2 pays the plan that its payer accepted', async () => {
    world.gateway.catalog.plans.push(planOf({ id: 7, amount: '20000', credits: 300 }))
    await world.gateway.reapply()
    const wallet = world.gateway.wallet()
    const offer = offerIn(await call())
    const entry = offer.accepts.find(({ amount }) => amount === '20000')!
    const signed = await signPayment(wallet.signer, { payTo: entry.payTo, amount: entry.amount })
    const payload = x402V2(signed, { ...offer, accepts: [entry] })
    await call({ payment: encodeJson(payload), name: 'payment-signature' }).expect(200)
    expect(await balanceOf(world.gateway.ledger, wallet.address, 7)).toBe(299n)

    const other = world.gateway.wallet()
    const [version1] = await Promise.all([call({ payment: await other.pay(planOf({ amount: '20000' })) })])
    expect(version1.status).toBe(200)
    expect(await balanceOf(world.gateway.ledger, other.address, 7)).toBe(299n)
    world.gateway.catalog.plans.pop()
    await world.gateway.reapply()
  })

  test('leaves the other credits to its payer, who spends them after a sign-in', async () => {
    const { payment, signIn, balance } = await newPayer()
    await call({ payment }).expect(200)
    const session = await signIn()
    await session.call().expect(200)
    expect(await balance()).toBe(98n)
  })

  test('pays a REST call', async () => {
    const { payment } = await newPayer()
    await world.gateway.api.get('/v1/84532/rest/x').expect(402)
    await world.gateway.api.get('/v1/84532/rest/x').set('x-payment', payment).expect(200)
  })

  test('with an access key is the purchase of its payer', async () => {
    const holder = await newPayer()
    const session = await holder.signIn()
    const made = await world.gateway.api
      .post('/keys')
      .set('authorization', `Bearer ${session.token}`)
      .send({ label: 'x' })
    const path = `84532/${(made.body as { key: string }).key}`
    const other = await newPayer()
    await call({ chain: path, payment: other.payment }).expect(200)
    expect([await holder.balance(), await other.balance()]).toEqual([0n, 99n])
  })
})

test('HEAD takes no payment', async () => {
  const { payment, address } = await newPayer()
  const answer = await world.gateway.api.head('/v1/84532/rest/x').set('x-payment', payment)
  expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST'])
  expect(await statesOf(address)).toEqual([])
})

test('the facilitator learns what a JSON-RPC URL takes, for clients of both versions; a REST path is no entry', async () => {
  const listing = () => {
    const { extensions, paymentRequirements } = world.gateway.facilitator.calls.at(-1)!.request
    return [paymentRequirements.outputSchema, extensions?.['bazaar']]
  }
  await call({ payment: (await newPayer()).payment }).expect(200)
  const input = { type: 'http', method: 'POST' }
  expect(listing()).toMatchObject([
    { input: { ...input, discoverable: true } },
    { info: { input: { ...input, body: { method: 'eth_blockNumber' } } } },
  ])
  const { payment } = await newPayer()
  await world.gateway.api.get('/v1/84532/rest/x').set('x-payment', payment).expect(200)
  expect(listing()).toEqual([undefined, undefined])
})

describe('a payment that is refused', () => {
  test('by its terms is not settled, and all plans are offered', async () => {
    const wallet = world.gateway.wallet()
    const before = world.gateway.facilitator.calls.length
    const other = planOf({ pay_to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' })
    for (const [terms, reason] of [
      [planOf({ amount: '9999' }), 'invalid_exact_evm_payload_authorization_value'],
      [other, 'invalid_exact_evm_payload_recipient_mismatch'],
    ] as const) {
      const answer = await call({ payment: await wallet.pay(terms) })
      expect(errorIn(answer)).toEqual([402, reason])
      expect(offerIn(answer).accepts.length).toBeGreaterThan(0)
    }
    expect(world.gateway.facilitator.calls.length).toBe(before)
  })

  test('for a call that costs more than it buys, or that cannot be read, is not taken', async () => {
    const { payment, address } = await newPayer()
    const batch = Array.from({ length: 101 }, (_, id) => ({ ...blockNumber, id }))
    const dear = await call({ payment, body: batch })
    expect(dear.body).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: -32_600 }) as unknown }),
    )
    expect((await call({ payment, body: '{' })).body).toMatchObject({ error: { code: -32_700 } })
    expect(outcomeOf(await call({ payment, chain: 'nowhere' }))).toEqual([404, 'NOT_FOUND'])
    expect(outcomeOf(await world.gateway.api.get('/v1/84532').set('x-payment', payment))).toEqual([
      405,
      'METHOD_NOT_ALLOWED',
    ])
    expect(await statesOf(address)).toEqual([])
  })

  test('that is no payment is 400', async () => {
    expect(outcomeOf(await call({ payment: 'abc' }))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('a signature that only a contract could have made', () => {
  const forged = async () => {
    const { signer, address } = world.gateway.wallet()
    const { authorization } = await signPayment(signer, { payTo: planOf().pay_to, amount: planOf().amount })
    const signature = `0x${randomBytes(64).toString('hex')}1b`
    return { address, payment: paymentHeader({ signature, authorization }) }
  }

  test('is verified first, and nothing is stored or settled if it is not valid', async () => {
    const { address, payment } = await forged()
    const before = world.gateway.facilitator.calls.length
    expect(errorIn(await call({ payment }))).toEqual([402, 'invalid_exact_evm_payload_signature'])
    expect(await statesOf(address)).toEqual([])
    expect(world.gateway.facilitator.calls.length).toBe(before)
  })

  test('pays if it is valid', async () => {
    const { address, payment } = await forged()
    world.gateway.facilitator.contractWallets.add(address)
    await call({ payment }).expect(200)
    expect(await balanceOf(world.gateway.ledger, address)).toBe(99n)
  })

  test('counts against the address that sends it, not against the payer', async () => {
    const limited = await testGateway({
      beside: world.gateway,
      environment: { RATE_LIMIT_PAYMENTS_PER_MINUTE: 9, TRUSTED_PROXIES: 1 },
    })
    const asked = world.gateway.facilitator.verifyAsked()
    const victim = await newPayer()
    const outcomes = []
    for (let index = 0; index < 9; index++) {
      const { signer } = victim
      const { authorization } = await signPayment(signer, { payTo: planOf().pay_to, amount: planOf().amount })
      const payment = paymentHeader({ signature: `0x${randomBytes(64).toString('hex')}1b`, authorization })
      outcomes.push((await call({ payment, at: limited, from: '203.0.113.5' })).status)
    }
    expect(outcomes).toEqual([402, 402, 402, 429, 429, 429, 429, 429, 429])
    expect(world.gateway.facilitator.verifyAsked() - asked).toBe(3)
    await call({ payment: victim.payment, at: limited, from: '203.0.113.6' }).expect(200)
    await limited.ledger.drain()
  })
})
