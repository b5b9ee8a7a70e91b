import { decodeJson, type PaymentPayload, type PaymentRequired } from '@tollgate/protocol'
import { newThirdParty } from './testing/client-keys'
import { newCustomer } from './testing/customers'
import { call } from './testing/paying'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'

let world: ObservedWorld
beforeAll(async () => void (world = await startObservedWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

test('a stranger that steals a payment header settles nothing with its own client key, and the payer gets its credits', async () => {
  const { facilitator, plan } = world
  const customer = await newCustomer(world, plan)
  const asked = (await call(world, customer.session.token)).body as unknown as PaymentRequired
  const payment = await customer.pay(asked)

  const [offer] = asked.accepts ?? []
  const stranger = await (await newThirdParty(facilitator)).newKey()
  const body = {
    x402Version: 1,
    paymentPayload: decodeJson(payment) as PaymentPayload,
    paymentRequirements: offer,
  }
  const headers = {
    'content-type': 'application/json',
    'X-Client-ID': stranger.clientId,
    'X-Client-Token': stranger.token,
  }
  const ask = async (operation: string) => {
    const answer = await fetch(`${facilitator.url}/api/v1/${operation}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Record<string, unknown>
  }
  const refused = 'invalid_payment_requirements'
  expect(await ask('verify')).toMatchObject({ isValid: false, invalidReason: refused })
  expect(await ask('settle')).toMatchObject({ success: false, errorReason: refused, transaction: '' })
  expect(await world.token.balanceOf(customer.address)).toBe(BUDGET)

  expect((await call(world, customer.session.token, payment)).status).toBe(200)
  expect((await call(world, customer.session.token)).status).toBe(200)
  expect(await world.token.balanceOf(customer.address)).toBe(BUDGET - BigInt(plan.amount))
  expect(await ask('settle')).toMatchObject({ success: false, transaction: '' })
}, 60_000)
