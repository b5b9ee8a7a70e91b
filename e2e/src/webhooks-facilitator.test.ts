import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { postJson, startHoldingReceiver } from './testing/holding-receiver'
import { killService } from './testing/kill-gateway'
import { settleRequest, until } from './testing/paying'
import { startWorld, walletAt, type World } from './testing/world'

/** In each test; with those of the gateway there are twenty. */
const KILLS = 5

let world: World
beforeAll(async () => {
  world = await startWorld()
}, 120_000)
afterAll(async () => {
  await closeAll()
  await world.stop()
}, 30_000)

type Login = { data: { access_token: string } }
type Created = { data: { client: { clientId: string; token: string } } }
type Webhook = { data: { secret: string } }
type Settled = { success: boolean; transaction: string }

/** A merchant with a client key and a webhook. */
async function newMerchant(url: string) {
  const api = `${world.facilitator.url}/api/v1`
  const post = async (path: string, headers: Record<string, string>, body: object) =>
    (await postJson(`${api}${path}`, headers, body)).body
  const account = { email: `shop-${Date.now()}@example.com`, password: 'correct horse battery staple' }
  await post('/signup', {}, account)
  const login = (await post('/login', {}, account)) as Login
  const headers = { authorization: `Bearer ${login.data.access_token}` }
  const { clientId, token } = ((await post('/clients', headers, { title: 'Shop' })) as Created).data.client
  const { secret } = ((await post('/webhooks', headers, { url })) as Webhook).data
  return { secret, key: { 'x-client-id': clientId, 'x-client-token': token } }
}

test.each([
  ['between the commit and the delivery', false],
  ['during a delivery', true],
])(
  'a facilitator killed %s loses no event',
  async (_, isHolding) => {
    const receiver = await startHoldingReceiver({ isHolding })
    const { secret, key } = await newMerchant(receiver.url)
    const transactions: string[] = []
    for (let kill = 0; kill < KILLS; kill++) {
      const before = receiver.received.length
      const request = await settleRequest(walletAt(kill), Wallet.createRandom().address, 10_000n)
      const { transaction } = await until(
        async () => (await postJson(`${world.facilitator.url}/api/v1/settle`, key, request)).body as Settled,
        ({ success }) => success,
      )
      transactions.push(transaction)
      if (isHolding) await receiver.until(before + 1)
      await killService(world.facilitator)
    }

    const events = await receiver.takeAll(secret, KILLS)
    expect(events.map(({ type }) => type)).toEqual(transactions.map(() => 'settlement.settled'))
    expect(events.map(({ data }) => data.transaction).sort()).toEqual(transactions.sort())
  },
  180_000,
)
