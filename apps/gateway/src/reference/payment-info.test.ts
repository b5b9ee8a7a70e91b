import { type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { cosmosPlanOf, planOf, providerOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { type PaymentInfo } from './payment-info'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

type Operation = { responses: object; 'x-payment-info'?: PaymentInfo }
async function operations() {
  const { paths } = (await gateway.api.get('/openapi.json').expect(200)).body as OpenApiDocument
  return Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[])
}
const paymentInfo = async () =>
  (await operations()).find((operation) => 'x-payment-info' in operation)?.['x-payment-info']

describe('x-payment-info of GET /openapi.json', () => {
  test('is on the operations that may answer 402, with the current prices', async () => {
    gateway.catalog.providers.push(
      providerOf({
        chain_id: '777',
        rpc: ['https://n.example'],
        methods: { trace_block: 9 },
        not_served: ['foo'],
      }),
    )
    await gateway.reapply()
    for (const operation of await operations())
      expect('x-payment-info' in operation).toBe('402' in operation.responses)
    const pricing = (await gateway.api.get('/pricing')).body as { calls: object[] }[]
    expect(await paymentInfo()).toEqual({
      price: { mode: 'fixed', currency: 'USD', amount: '0.01' },
      protocols: [{ x402: {} }],
      plans: [
        {
          pricing_plan_id: 1,
          network: 'base-sepolia',
          price: '0.01',
          display_denom: 'USDC',
          credits: 100,
          price_per_credit: '0.0001',
        },
      ],
      calls: pricing[0]!.calls,
    })
    expect(pricing[0]!.calls).toContainEqual({
      ecosystem: 'evm',
      chain_id: '777',
      transports: ['rpc'],
      method_credits: { trace_block: 9 },
      not_served: ['eth_subscribe', 'eth_unsubscribe', 'foo'],
    })
  })

  test('has a range of the plans in dollar tokens, and follows the catalog', async () => {
    gateway.catalog.plans.push(
      planOf({ id: 2, amount: '2500000', decimals: 6 }),
      cosmosPlanOf({ id: 3 }),
      planOf({ id: 4, display_denom: 'DAI', decimals: 18, amount: '5000000000000000' }),
    )
    await gateway.reapply()
    expect((await paymentInfo())?.price).toEqual({
      mode: 'dynamic',
      currency: 'USD',
      min: '0.005',
      max: '2.5',
    })

    gateway.catalog.plans.splice(0, 4, cosmosPlanOf({ id: 3 }))
    await gateway.reapply()
    expect((await paymentInfo())?.price).toEqual({ mode: 'fixed', currency: 'OSMO', amount: '0.01' })

    gateway.catalog.plans.pop()
    await gateway.reapply()
    expect(await paymentInfo()).toBeUndefined()
  })

  test('is absent, and the document served, while the catalog cannot be read', async () => {
    const broken = await testGateway({ beside: gateway })
    await broken.database.close()
    expect((await broken.api.get('/openapi.json').expect(200)).text).not.toContain('x-payment-info')
  })
})
