import { closeAll } from '@tollgate/testing'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { usdc } from '../testing/payment'

const most = (2n ** 256n - 1n).toString()

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

const plan = {
  id: 1,
  plan_name: 'Starter',
  network: 'base-sepolia',
  chain_id: '84532',
  ecosystem: 'evm',
  asset_address: usdc,
  amount: '10000',
  decimals: 6,
  display_denom: 'USDC',
  credits: 100,
  pay_to: planOf().pay_to,
}

describe('GET /pricing', () => {
  test.each([
    ['2147483648', [404, 'NOT_FOUND']],
    ['9999999999', [404, 'NOT_FOUND']],
    ['99999999999', [400, 'INVALID_REQUEST']],
  ])('refuses /pricing/%s', async (id, refusal) => {
    expect(outcomeOf(await gateway.api.get(`/pricing/${id}`))).toEqual(refusal)
  })

  test('returns the plan with the highest possible id and amount', async () => {
    gateway.catalog.plans.push(planOf({ id: 2_147_483_647, amount: most }))
    await gateway.reapply()
    const answer = await gateway.api.get('/pricing/2147483647').expect(200)
    expect(answer.body).toMatchObject({ data: { ...plan, id: 2_147_483_647, amount: most } })
    gateway.catalog.plans.pop()
    await gateway.reapply()
  })

  test('is at most one second old', async () => {
    gateway.catalog.plans.push(planOf({ id: 4 }))
    await gateway.reapply()
    await gateway.api.get('/pricing/4').expect(200)
    gateway.catalog.plans.pop()
    await gateway.reapply()
    await gateway.api.get('/pricing/4').expect(404)
  })
})

describe('GET /x402/supported', () => {
  test("returns the facilitator's kinds, and its last response while it is unavailable", async () => {
    const kinds = { kinds: [{ scheme: 'exact', network: 'base-sepolia', asset: usdc }] }
    const supported = () => gateway.api.get('/x402/supported')
    gateway.facilitator.disconnect()
    const unknown = await supported()
    expect([...outcomeOf(unknown), unknown.headers['retry-after']]).toEqual([503, 'UNAVAILABLE', '2'])

    gateway.facilitator.reconnect()
    expect((await supported().expect(200)).body).toEqual(kinds)
    gateway.facilitator.disconnect()
    gateway.clock.advance(60)
    expect((await supported().expect(200)).body).toEqual(kinds)
    gateway.facilitator.reconnect()
  })

  test('returns the last response while the facilitator hangs, without waiting for its timeout', async () => {
    const another = await testGateway({ beside: gateway })
    const supported = () => another.api.get('/x402/supported').expect(200)
    const before = (await supported()).body as unknown
    const answer = gateway.facilitator.hold()
    for (let time = 0; time < 2; time++) {
      gateway.clock.advance(6)
      expect((await supported()).body).toEqual(before)
    }
    another.log.logger.info('answered')
    await another.log.line('answered')
    const said = another.log.lines().map(({ message }) => message)
    expect(said).not.toContain('facilitator support query failed')
    answer()
  })

  test('sends one request to the facilitator for concurrent callers', async () => {
    gateway.clock.advance(60)
    const asked = gateway.facilitator.supportAsked()
    await Promise.all(Array.from({ length: 20 }, () => gateway.api.get('/x402/supported').expect(200)))
    expect(gateway.facilitator.supportAsked()).toBe(asked + 1)
  })
})

test('a clock set back does not keep old responses valid', async () => {
  await gateway.api.get('/pricing/6').expect(404)
  await gateway.api.get('/x402/supported').expect(200)
  const asked = gateway.facilitator.supportAsked()
  gateway.catalog.plans.push(planOf({ id: 6 }))
  gateway.clock.advance(-3_600)
  await gateway.reapply()
  await gateway.api.get('/pricing/6').expect(200)
  await gateway.api.get('/x402/supported').expect(200)
  expect(gateway.facilitator.supportAsked()).toBe(asked + 1)

  gateway.clock.advance(3_600)
  gateway.catalog.plans.pop()
  await gateway.reapply()
})
