import { closeAll } from '@tollgate/testing'
import { planOf, providerOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { usdc } from '../testing/payment'

const most = (2n ** 256n - 1n).toString()

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(planOf({ id: 2, active: false }), planOf({ id: 3, amount: most }))
  gateway.catalog.providers.push(
    providerOf({ chain_id: '1', rpc: ['https://one.example'], description: 'One' }),
    providerOf({ chain_id: '2', rpc: ['https://two.example'], active: false }),
  )
  await gateway.reapply()
})
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
  test('lists the active plans only', async () => {
    const answer = await gateway.api.get('/pricing').expect(200)
    expect(answer.body).toEqual([plan, { ...plan, id: 3, amount: most }])
  })

  test('returns one of them under data', async () => {
    const answer = await gateway.api.get('/pricing/1').expect(200)
    expect(answer.body).toEqual({ data: plan })
  })

  test.each([
    ['2', [404, 'NOT_FOUND']],
    ['999', [404, 'NOT_FOUND']],
    ['0', [400, 'INVALID_REQUEST']],
    ['-1', [400, 'INVALID_REQUEST']],
    ['1e3', [400, 'INVALID_REQUEST']],
    ['NaN', [400, 'INVALID_REQUEST']],
    ['2147483648', [404, 'NOT_FOUND']],
    ['9999999999', [404, 'NOT_FOUND']],
    ['99999999999', [400, 'INVALID_REQUEST']],
    ['99999999999999999999', [400, 'INVALID_REQUEST']],
  ])('refuses /pricing/%s', async (id, refusal) => {
    expect(outcomeOf(await gateway.api.get(`/pricing/${id}`))).toEqual(refusal)
  })

  test('returns the plan with the highest possible id', async () => {
    gateway.catalog.plans.push(planOf({ id: 2_147_483_647 }))
    await gateway.reapply()
    const answer = await gateway.api.get('/pricing/2147483647').expect(200)
    expect(answer.body).toEqual({ data: { ...plan, id: 2_147_483_647 } })
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

describe('GET /providers', () => {
  const one = {
    provider_id: 'provider-1',
    category: 'evm',
    chain_id: '1',
    rpc: ['https://one.example'],
    rest: [],
    description: 'One',
  }

  test('lists the active providers only', async () => {
    const answer = await gateway.api.get('/providers').expect(200)
    const { data } = answer.body as { data: object[] }
    expect(data).toHaveLength(2)
    expect(data[1]).toEqual({ ...one, id: expect.any(Number) as number })
  })

  test('returns one of them by its key, category and chain', async () => {
    const answer = await gateway.api.get('/providers/provider-1').query({ category: 'evm', chain_id: '1' })
    expect(answer.body).toEqual({ data: { ...one, id: expect.any(Number) as number } })
  })

  test.each([
    ['provider-1', {}, [400, 'INVALID_REQUEST']],
    ['provider-1', { category: 'evm' }, [400, 'INVALID_REQUEST']],
    ['provider-1', { chain_id: '1' }, [400, 'INVALID_REQUEST']],
    ['provider-1', { category: 'evm', chain_id: '' }, [400, 'INVALID_REQUEST']],
    ['provider-1', { category: ['evm', 'cosmos'], chain_id: '1' }, [400, 'INVALID_REQUEST']],
    ['provider-1', { category: 'evm', chain_id: '84532' }, [404, 'NOT_FOUND']],
    ['provider-1', { category: 'cosmos', chain_id: '1' }, [404, 'NOT_FOUND']],
    ['provider-2', { category: 'evm', chain_id: '2' }, [404, 'NOT_FOUND']],
    ['unknown', { category: 'evm', chain_id: '1' }, [404, 'NOT_FOUND']],
  ])('refuses /providers/%s %j', async (id, query, refusal) => {
    expect(outcomeOf(await gateway.api.get(`/providers/${id}`).query(query))).toEqual(refusal)
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
