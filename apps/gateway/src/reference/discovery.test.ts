import { type PaymentRequired } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { offerIn } from '../testing/plain'
import { type Discovery } from './discovery'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

const discovery = async () => (await gateway.api.get('/.well-known/x402').expect(200)).body as Discovery

describe('GET /.well-known/x402', () => {
  test('names the paid endpoint, and the requirements of each plan', async () => {
    const { accepts } = (await (await gateway.wallet().signIn()).call().expect(402)).body as PaymentRequired
    const found = await discovery()
    const resource = 'https://gateway.example/v1/eip155:84532'
    expect(found).toMatchObject({
      version: 1,
      x402Version: 2,
      resources: ['https://gateway.example/rpc', resource],
    })
    const plain = offerIn(await gateway.api.get('/v1/84532').expect(402))
    expect(found.items).toEqual([
      {
        resource: 'https://gateway.example/rpc',
        type: 'http',
        x402Version: 1,
        accepts,
        lastUpdated: expect.any(String) as string,
        metadata: expect.any(Object) as object,
      },
      {
        resource,
        type: 'http',
        x402Version: 2,
        accepts: plain.accepts,
        lastUpdated: expect.any(String) as string,
        metadata: expect.any(Object) as object,
      },
    ])
    expect(found.plans).toEqual((await gateway.api.get('/pricing')).body)
  })

  test('has the same content at both paths', async () => {
    const { items, ...rest } = await discovery()
    const file = (await gateway.api.get('/.well-known/x402.json').expect(200)).body as Discovery
    expect(file).toMatchObject({ ...rest, items: items.map(({ accepts }) => ({ accepts })) })
  })

  test('does not offer x402 clients a plan that they cannot parse, but lists it', async () => {
    gateway.catalog.plans.push(planOf({ id: 2, network: 'elsewhere', chain_id: '999' }), {
      ...planOf({ id: 3 }),
      asset_name: undefined,
      asset_version: undefined,
    })
    await gateway.reapply()
    const { items, plans } = await discovery()
    expect(items[0]?.accepts.map(({ network }) => network)).toEqual(['base-sepolia'])
    expect(plans.map(({ id }) => id)).toEqual([1, 2, 3])
  })

  test('omits a retired plan', async () => {
    gateway.catalog.plans.splice(0, 10, planOf({ id: 4 }))
    await gateway.reapply()
    const { items, plans } = await discovery()
    expect([items[0]?.accepts.length, plans.map(({ id }) => id)]).toEqual([1, [4]])
  })
})
