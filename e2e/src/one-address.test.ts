import { fundWallet } from '@tollgate/devnet'
import { facilitatorConfig } from '@tollgate/facilitator-client'
import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware as paymentMiddlewareV2 } from '@x402/express'
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
  withBazaar,
  type DiscoveryExtension,
} from '@x402/extensions/bazaar'
import { Wallet } from 'ethers'
import express, { type RequestHandler } from 'express'
import { once } from 'node:events'
import { type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { ListDiscoveryResourcesResponseSchema } from 'x402/types'
import { useFacilitator } from 'x402/verify'
import { paymentMiddleware } from 'x402-express'
import { until } from './testing/paying'
import { publicPayers } from './testing/public-payers'
import { startWorld, type World } from './testing/world'

const NETWORK = 'eip155:84532'
const PRICE = '$0.01'

let world: World
const servers: Server[] = []

beforeAll(async () => {
  world = await startWorld()
}, 120_000)
// The libraries write every outcome to the console.
beforeEach(() => {
  for (const level of ['error', 'warn', 'log'] as const) jest.spyOn(console, level).mockImplementation()
})
afterEach(() => jest.restoreAllMocks())
afterAll(async () => {
  for (const server of servers) server.close()
  await world.stop()
}, 30_000)

/** The facilitator's root, with the client key, as its clients take it. */
const root = () =>
  facilitatorConfig(world.facilitator.url, {
    clientId: world.clientKey.clientId,
    clientToken: world.clientKey.token,
  })

async function serve(middleware: RequestHandler): Promise<string> {
  const app = express()
  app.use(middleware)
  app.get('/weather/:city', (_req, res) => void res.json({ weather: 'sunny' }))
  const server = app.listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function pay(version: 1 | 2, url: string) {
  const wallet = Wallet.createRandom()
  await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc: 1_000_000n })
  const payer = publicPayers.find((one) => one.version === version)!
  const paid = await payer.pay(url, wallet.privateKey)
  expect(paid).toMatchObject({ status: 200, receipt: { success: true, payer: wallet.address } })
}

test('version 2: unmodified packages are paid at the root, and the payment lists what it declares', async () => {
  const payTo = Wallet.createRandom().address
  const client = withBazaar(new HTTPFacilitatorClient(root()))
  const supported = await client.getSupported()
  expect(supported.extensions).toContain('bazaar')
  expect(supported.kinds.map(({ network }) => network)).toEqual(
    expect.arrayContaining(['base-sepolia', NETWORK]),
  )

  const server = new x402ResourceServer(client).register(NETWORK, new ExactEvmScheme())
  server.registerExtension(bazaarResourceServerExtension)
  const route = {
    accepts: { scheme: 'exact', price: PRICE, network: NETWORK, payTo } as const,
    description: 'The thunderstorms of a city',
    mimeType: 'application/json',
    extensions: declareDiscoveryExtension({
      input: { hours: 24 },
      inputSchema: { properties: { hours: { type: 'integer' } }, required: ['hours'] },
      output: { example: { weather: 'sunny' } },
    }),
  }
  const url = await serve(paymentMiddlewareV2({ 'GET /weather/[city]': route }, server))
  await pay(2, `${url}/weather/oslo?hours=24`)

  const { bazaar } = client.extensions
  const { resources } = await until(
    () => bazaar.search({ query: 'thunderstorm' }),
    (found) => found.resources.length > 0,
  )
  const [item] = resources
  expect(item).toMatchObject({
    resource: `${url}/weather/:city`,
    type: 'http',
    x402Version: 2,
    description: route.description,
    accepts: [{ scheme: 'exact', network: NETWORK, amount: '10000', payTo }],
    source: 'cataloged',
  })
  const declared = item?.extensions?.bazaar as DiscoveryExtension
  expect(validateDiscoveryExtension(declared)).toEqual({ valid: true })
  expect(validateDiscoveryExtensionSpec({ ...declared })).toEqual({ valid: true })
  const [requirements] = item!.accepts
  const payload = {
    x402Version: 2,
    resource: { url: `${url}/weather/bergen` },
    accepted: requirements!,
    payload: {},
    extensions: { bazaar: declared },
  }
  expect(extractDiscoveryInfo(payload, requirements!)).toMatchObject({
    resourceUrl: item!.resource,
    method: 'GET',
    discoveryInfo: { input: { queryParams: { hours: 24 }, pathParams: { city: 'oslo' } } },
  })

  for (const url of [world.facilitator.url, `${world.facilitator.url}/api/v2`]) {
    const list = withBazaar(new HTTPFacilitatorClient({ url })).extensions.bazaar
    const filters = { type: 'http', payTo, network: NETWORK, extensions: 'bazaar' }
    const page = await list.listResources({ ...filters, limit: 5, offset: 0 })
    expect(page).toMatchObject({ x402Version: 2, pagination: { limit: 5, offset: 0, total: 1 } })
    expect(page.items).toEqual([item])
    expect((await list.listResources()).items).toContainEqual(item)
  }
  const merchant = await fetch(`${world.facilitator.url}/discovery/merchant?payTo=${payTo}`)
  expect(await merchant.json()).toMatchObject({ payTo, resources: [item], pagination: { total: 1 } })
})

test('version 1: unmodified packages are paid at the root, and the payment lists what it declares, below /api/v1', async () => {
  const payTo = Wallet.createRandom().address as `0x${string}`
  const config = {
    description: 'Old weather',
    discoverable: true,
    inputSchema: { queryParams: { hours: 'number' } },
  }
  const url = await serve(
    paymentMiddleware(payTo, { 'GET /weather/*': { price: PRICE, network: 'base-sepolia', config } }, root()),
  )
  await pay(1, `${url}/weather/oslo`)
  expect((await useFacilitator(root()).supported()).kinds.length).toBeGreaterThan(1)
  const { list } = useFacilitator({ url: `${world.facilitator.url}/api/v1` as `${string}://${string}` })
  const { items } = await until(
    () => list({ type: 'http' }),
    (page) => page.items.some(({ resource }) => resource === `${url}/weather/oslo`),
  )
  const dated = items.map((item) => ({ ...item, lastUpdated: new Date(item.lastUpdated) }))
  const pagination = { limit: 100, offset: 0, total: items.length }
  const parsed = ListDiscoveryResourcesResponseSchema.parse({ x402Version: 1, items: dated, pagination })
  expect(parsed.items).toMatchObject([
    {
      resource: `${url}/weather/oslo`,
      accepts: [
        {
          network: 'base-sepolia',
          maxAmountRequired: '10000',
          payTo,
          outputSchema: {
            input: { type: 'http', method: 'GET', discoverable: true, queryParams: { hours: 'number' } },
          },
        },
      ],
    },
  ])
})

test('a payment that is refused at the root names its reason, in either version', async () => {
  const client = new HTTPFacilitatorClient(root())
  const requirements = {
    scheme: 'exact',
    network: NETWORK as `${string}:${string}`,
    amount: '10000',
    asset: world.plan.asset_address,
    payTo: Wallet.createRandom().address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  }
  const from = Wallet.createRandom().address
  const authorization = {
    from,
    to: requirements.payTo,
    value: '10000',
    validAfter: '0',
    validBefore: '1',
    nonce: `0x${'ab'.repeat(32)}`,
  }
  const payload = { signature: `0x${'ab'.repeat(65)}`, authorization }
  const refused = await client
    .verify({ x402Version: 2, accepted: requirements, payload }, requirements)
    .catch((error: unknown) => error)
  expect(JSON.stringify(refused)).toContain('invalid_exact_evm_payload')

  const { verify } = useFacilitator(root())
  const first = { scheme: 'exact', network: 'base-sepolia' } as const
  expect(
    await verify(
      { x402Version: 1, ...first, payload },
      {
        ...first,
        maxAmountRequired: '10000',
        resource: 'https://shop.example/',
        description: '',
        mimeType: '',
        payTo: requirements.payTo,
        asset: requirements.asset,
        maxTimeoutSeconds: 60,
        extra: requirements.extra,
      },
    ),
  ).toMatchObject({
    isValid: false,
    invalidReason: expect.stringMatching(/^invalid_exact_evm_payload/) as string,
  })
})
