import { closeAll } from '@tollgate/testing'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { usdc } from '../testing/payment'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(
    planOf({ id: 2, network: 'house-chain', chain_id: '777' }),
    planOf({
      id: 3,
      network: 'osmosis-1',
      chain_id: 'osmosis-1',
      ecosystem: 'cosmos',
      asset_address: 'uosmo',
      pay_to: 'osmo1payee',
    }),
  )
  await gateway.reapply()
})
afterAll(closeAll)

describe('a call without credits', () => {
  const requirements = {
    scheme: 'exact',
    network: '84532',
    asset: usdc,
    maxAmountRequired: '10000',
    mimeType: 'application/json',
    payTo: planOf().pay_to,
    maxTimeoutSeconds: 60,
    description: '100 credits for RPC calls (plan Starter)',
  }

  test('is answered 402 with the requirements, ours and those of x402 version 1, that nobody may keep', async () => {
    const { call } = await gateway.wallet().signIn()
    const asked = gateway.upstream.asked.length
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).toEqual({
      status: 402,
      message: 'No credits left on plan 1; pay 0.01 USDC and send the signed payment in X-PAYMENT',
      paymentRequirements: requirements,
      x402Version: 1,
      error: 'X-PAYMENT header is required',
      accepts: [
        {
          ...requirements,
          network: 'base-sepolia',
          resource: 'https://gateway.example/rpc',
          extra: { name: 'USDC', version: '2' },
        },
      ],
    })
    expect(gateway.upstream.asked).toHaveLength(asked)
  })

  test.each([
    ['a network that x402 version 1 does not know', { pricing_plan_id: 2, x402_chain_id: '777' }, '777'],
    [
      'another ecosystem',
      { pricing_plan_id: 3, x402_chain_id: 'osmosis-1', x402_ecosystem: 'cosmos' },
      'osmosis-1',
    ],
  ])('on a plan of %s is not offered what would confuse its clients', async (_, login, network) => {
    const { call } = await gateway.wallet().signIn(login)
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.body).toMatchObject({ status: 402, paymentRequirements: { network } })
    for (const member of ['accepts', 'x402Version', 'error']) expect(answer.body).not.toHaveProperty(member)
  })
})
