import { expectPaidOnce } from './testing/expect-payment'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { publicPayers } from './testing/public-payers'
import { blockNumberCall, signIn } from './testing/world'

let world: ObservedWorld
beforeAll(async () => void (world = await startObservedWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

describe('a wallet without an account, through a public x402 client, pays the gateway and is served', () => {
  test.each(publicPayers)('$name (v$version)', async ({ pay, version }) => {
    const { plan } = world
    const { address, privateKey } = await world.newPayer()
    const headers = { authorization: `Bearer ${await signIn(world, { privateKey })}` }
    const { status, body, receipt } = await pay(`${world.gateway.url}/rpc`, privateKey, {
      json: blockNumberCall,
      headers,
    })
    expect([status, JSON.parse(body)]).toEqual([
      200,
      expect.objectContaining({ id: 7, result: expect.any(String) as string }),
    ])
    const networks = { 1: plan.network, 2: `eip155:${plan.chain_id}` }
    expect(receipt).toMatchObject({ success: true, network: networks[version], payer: address })
    await expectPaidOnce(world, address, { transaction: receipt.transaction })
  })
})
