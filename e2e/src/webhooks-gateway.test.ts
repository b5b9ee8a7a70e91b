import { closeAll } from '@tollgate/testing'
import { newCustomer } from './testing/customers'
import { postJson, startHoldingReceiver } from './testing/holding-receiver'
import { killService } from './testing/kill-gateway'
import { startWorld, type World } from './testing/world'

/** In each test; with those of the facilitator there are twenty. */
const KILLS = 5

let world: World
beforeAll(async () => {
  world = await startWorld()
}, 120_000)
afterAll(async () => {
  await closeAll()
  await world.stop()
}, 30_000)

test.each([
  ['between the commit and the delivery', false],
  ['during a delivery', true],
])(
  'a gateway killed %s loses no event and keeps the order of each payment',
  async (_, isHolding) => {
    const receiver = await startHoldingReceiver({ isHolding })
    const { session, pay } = await newCustomer(world, world.plan)
    const headers = { authorization: `Bearer ${session.token}` }
    const { gateway } = world
    const created = await postJson(`${gateway.url}/webhooks`, headers, {
      url: receiver.url,
      events: ['payment.settled', 'credits.bought'],
    })
    const asked = (await postJson(`${gateway.url}/credits`, headers)).body

    for (let kill = 0; kill < KILLS; kill++) {
      const before = receiver.received.length
      const payment = { ...headers, 'x-payment': await pay(asked) }
      expect((await postJson(`${gateway.url}/credits`, payment)).status).toBe(200)
      if (isHolding) await receiver.until(before + 1)
      await killService(gateway)
    }

    const events = await receiver.takeAll((created.body as { secret: string }).secret, 2 * KILLS)
    const payments = new Set(events.map(({ data }) => data.id))
    expect(payments.size).toBe(KILLS)
    for (const payment of payments)
      expect(events.filter(({ data }) => data.id === payment).map(({ type }) => type)).toEqual([
        'payment.settled',
        'credits.bought',
      ])
  },
  180_000,
)
