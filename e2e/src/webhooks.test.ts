import { closeAll, startWebhookReceiver, type ReceivedWebhook } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { Webhook } from 'standardwebhooks'
import { newCustomer } from './testing/customers'
import { killService } from './testing/kill-gateway'
import { settleRequest, until } from './testing/paying'
import { startWorld, walletAt, type World } from './testing/world'

const GATEWAY_KILLS = 14
const FACILITATOR_KILLS = 6

let world: World
beforeAll(async () => {
  world = await startWorld()
}, 120_000)
afterAll(async () => {
  await closeAll()
  await world.stop()
}, 30_000)

type Event = { type: string; data: { id: string; transaction: string } }

async function send(
  url: string,
  headers: Record<string, string>,
  body?: object,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return { status: answer.status, body: await answer.json() }
}

/** A receiver that holds the first request of each message, while `isHolding`, so that a kill interrupts its delivery. */
async function startHoldingReceiver() {
  const taken: ReceivedWebhook[] = []
  const held = new Set<string>()
  const state = { isHolding: false }
  const receiver = await startWebhookReceiver((res, one) => {
    if (state.isHolding && !held.has(one.id)) return void held.add(one.id)
    taken.push(one)
    res.writeHead(200).end()
  })
  return { ...receiver, taken, state }
}

const eventOf = (secret: string, { text, headers }: ReceivedWebhook) =>
  new Webhook(secret).verify(text, headers as Record<string, string>) as Event

/** Of messages that came again: once, where they came first. */
const firstOnes = (taken: readonly ReceivedWebhook[]) =>
  taken.filter(({ id }, index) => taken.findIndex((one) => one.id === id) === index)

test('a gateway killed between the commit and the delivery, or during one, loses no event and keeps their order', async () => {
  const receiver = await startHoldingReceiver()
  const { session, pay } = await newCustomer(world, world.plan)
  const headers = { authorization: `Bearer ${session.token}` }
  const created = await send(`${world.gateway.url}/webhooks`, headers, {
    url: receiver.url,
    events: ['payment.settled', 'credits.bought'],
  })
  const { secret } = created.body as { secret: string }
  const asked = (await send(`${world.gateway.url}/credits`, headers)).body

  for (let kill = 0; kill < GATEWAY_KILLS; kill++) {
    const before = receiver.received.length
    receiver.state.isHolding = kill % 2 === 1
    const bought = await send(`${world.gateway.url}/credits`, { ...headers, 'x-payment': await pay(asked) })
    expect(bought.status).toBe(200)
    if (receiver.state.isHolding) await receiver.until(before + 1)
    await killService(world.gateway)
  }
  receiver.state.isHolding = false

  const taken = await until(
    () => Promise.resolve(firstOnes(receiver.taken)),
    (all) => all.length === 2 * GATEWAY_KILLS,
    90,
  )
  const events = taken.map((one) => eventOf(secret, one))
  const payments = new Set(events.map(({ data }) => data.id))
  expect(payments.size).toBe(GATEWAY_KILLS)
  for (const payment of payments)
    expect(events.filter(({ data }) => data.id === payment).map(({ type }) => type)).toEqual([
      'payment.settled',
      'credits.bought',
    ])
}, 300_000)

test('a facilitator killed between the commit and the delivery, or during one, loses no event', async () => {
  const api = `${world.facilitator.url}/api/v1`
  const account = { email: `shop-${Date.now()}@example.com`, password: 'correct horse battery staple' }
  await send(`${api}/signup`, {}, account)
  const login = (await send(`${api}/login`, {}, account)).body as { data: { access_token: string } }
  const headers = { authorization: `Bearer ${login.data.access_token}` }
  const made = (await send(`${api}/clients`, headers, { title: 'Shop' })).body as {
    data: { client: { clientId: string; token: string } }
  }
  const { clientId, token } = made.data.client
  const receiver = await startHoldingReceiver()
  const created = await send(`${api}/webhooks`, headers, { url: receiver.url })
  const { secret } = (created.body as { data: { secret: string } }).data

  const transactions: string[] = []
  for (let kill = 0; kill < FACILITATOR_KILLS; kill++) {
    const before = receiver.received.length
    receiver.state.isHolding = kill % 2 === 1
    const request = await settleRequest(walletAt(kill), Wallet.createRandom().address, 10_000n)
    const key = { 'x-client-id': clientId, 'x-client-token': token }
    const settled = await until(
      async () =>
        (await send(`${api}/settle`, key, request)).body as { success: boolean; transaction: string },
      ({ success }) => success,
    )
    transactions.push(settled.transaction)
    if (receiver.state.isHolding) await receiver.until(before + 1)
    await killService(world.facilitator)
  }
  receiver.state.isHolding = false

  const taken = await until(
    () => Promise.resolve(firstOnes(receiver.taken)),
    (all) => all.length === transactions.length,
    90,
  )
  const events = taken.map((one) => eventOf(secret, one))
  expect(events.map(({ type }) => type)).toEqual(transactions.map(() => 'settlement.settled'))
  expect(events.map(({ data }) => data.transaction).sort()).toEqual(transactions.sort())
}, 300_000)
