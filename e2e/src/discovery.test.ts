import { createAuthHeaders } from '@tollgate/facilitator-client'
import { type SettleResult } from '@tollgate/protocol'
import express from 'express'
import { once } from 'node:events'
import { type Server } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo } from 'node:net'
import { ListDiscoveryResourcesResponseSchema } from 'x402/types'
import { useFacilitator } from 'x402/verify'
import { paymentMiddleware } from 'x402-express'
import { createSigner, wrapFetchWithPayment } from 'x402-fetch'
import { tokenAt } from './testing/chain'
import { startWorld, walletAt, type World } from './testing/world'

const payTo = walletAt(9).address as `0x${string}`
let world: World
let merchant: Server
let weather: string

beforeAll(async () => {
  world = await startWorld()
  const { clientId, token } = world.clientKey
  const facilitator = {
    url: `${world.facilitator.url}/api/v1` as const,
    createAuthHeaders: createAuthHeaders(clientId, token),
  }
  const app = express()
  const price = { '/weather': { price: '$0.01', network: 'base-sepolia' } } as const
  app.use(paymentMiddleware(payTo, price, facilitator as never))
  app.get('/weather', (_req, res) => {
    res.json({ weather: 'sunny' })
  })
  merchant = app.listen(0, '127.0.0.1')
  await once(merchant, 'listening')
  weather = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}/weather`

  const accessToken = await newUser()
  await register(accessToken, { resource: '/path/only' })
  await register(accessToken, { resource: weather })
  await register(accessToken, { resource: 'https://shop.example/v2', x402Version: 2 })
  await register(accessToken, { resource: 'https://shop.example/news', metadata: {} })
}, 120_000)

afterAll(async () => {
  merchant.close()
  await world.stop()
}, 30_000)

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<unknown> {
  const answer = await fetch(`${world.facilitator.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}

async function newUser(): Promise<string> {
  const credentials = { email: 'shop@example.com', password: 'a password that is long enough' }
  await post('/signup', credentials)
  const { data } = (await post('/login', credentials)) as { data: { access_token: string } }
  return data.access_token
}

const register = (accessToken: string, changes: object) =>
  post(
    '/resources',
    {
      type: 'http',
      x402Version: 1,
      accepts: [
        {
          scheme: 'exact',
          network: world.plan.network,
          maxAmountRequired: '10000',
          asset: world.plan.asset_address,
          payTo,
        },
      ],
      metadata: { description: 'The weather, now', mimeType: 'application/json' },
      ...changes,
    },
    { authorization: `Bearer ${accessToken}` },
  )

/** JSON has no dates, but x402's schema requires one, and its client passes the text. */
const withDates = ({ items, ...list }: Awaited<ReturnType<ReturnType<typeof useFacilitator>['list']>>) => ({
  ...list,
  items: items.map((item) => ({ ...item, lastUpdated: new Date(item.lastUpdated) })),
})

test('x402 lists the registered resources of version 1, and its schema accepts every entry', async () => {
  const { list } = useFacilitator({ url: `${world.facilitator.url}/api/v1` as `${string}://${string}` })
  const all = ListDiscoveryResourcesResponseSchema.parse(withDates(await list({ type: 'http' })))
  expect(all.items.map(({ resource }) => resource)).toEqual([weather, 'https://shop.example/news'])
  expect(all.pagination).toEqual({ limit: 100, offset: 0, total: 2 })
  const second = ListDiscoveryResourcesResponseSchema.parse(withDates(await list({ limit: 1, offset: 1 })))
  expect(second.items).toEqual(all.items.slice(1))
  expect(second.pagination).toEqual({ limit: 1, offset: 1, total: 2 })
  expect((await list({ type: 'mcp' })).items).toEqual([])
  expect((await list()).items).toHaveLength(2)
})

test('a wallet finds a resource in the list, pays by its entry alone, and is served', async () => {
  const { items } = await useFacilitator({
    url: `${world.facilitator.url}/api/v1` as `${string}://${string}`,
  }).list()
  const found = items.find(({ accepts }) => accepts.some(({ description }) => /weather/i.test(description)))
  const [listed] = found?.accepts ?? []
  expect(found?.resource).toBe(weather)

  const asked = (await (await fetch(weather)).json()) as { accepts: object[] }
  const terms = ['scheme', 'network', 'maxAmountRequired', 'asset', 'payTo', 'extra'] as const
  expect(asked.accepts).toMatchObject([Object.fromEntries(terms.map((term) => [term, listed?.[term]]))])

  const wallet = walletAt(4)
  const signer = await createSigner('base-sepolia', wallet.privateKey)
  const pay = wrapFetchWithPayment(fetch, signer, BigInt(listed?.maxAmountRequired ?? 0))
  const answer = await pay(found?.resource ?? '')
  expect([answer.status, await answer.json()]).toEqual([200, { weather: 'sunny' }])

  const receipt = Buffer.from(answer.headers.get('x-payment-response') ?? '', 'base64').toString()
  const token = tokenAt(world.infrastructure.rpcUrl)
  expect(await token.transfersOf((JSON.parse(receipt) as SettleResult).transaction, wallet.address)).toEqual([
    { from: wallet.address, to: payTo, value: 10_000n },
  ])
  token.close()
})

test('@x402/extensions lists version 2 resources, with its filters', async () => {
  type Bazaar = {
    listResources: (params?: object) => Promise<{ items: { resource: string; accepts: object[] }[] }>
  }
  const { withBazaar } = createRequire(require.resolve('@x402/express'))('@x402/extensions/bazaar') as {
    withBazaar: (client: object) => { extensions: { bazaar: Bazaar } }
  }
  const { bazaar } = withBazaar({
    url: `${world.facilitator.url}/api/v2`,
    createAuthHeaders: () => Promise.resolve({ headers: {} }),
  }).extensions

  const { items } = await bazaar.listResources({ type: 'http', limit: 5, offset: 0 })
  expect(items.map(({ resource }) => resource)).toEqual(['https://shop.example/v2'])
  expect(items[0]?.accepts).toEqual([
    {
      scheme: 'exact',
      network: 'eip155:84532',
      amount: '10000',
      asset: world.plan.asset_address,
      payTo,
      maxTimeoutSeconds: 60,
      extra: { name: 'USDC', version: '2' },
    },
  ])
  expect((await bazaar.listResources({ network: 'eip155:84532', payTo, scheme: 'exact' })).items).toEqual(
    items,
  )
  expect((await bazaar.listResources({ network: 'eip155:8453' })).items).toEqual([])
})
