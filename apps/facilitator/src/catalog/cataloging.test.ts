import { decodeJson, type DiscoveredResource, type DiscoveredResourceV2 } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { bazaarOf, declaredPayment } from '../testing/bazaar'
import { newPayer, sharedChain } from '../testing/chain'
import { newClient, newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { inVersion2, paymentRequest } from '../testing/payment'
import { newResource, way } from '../testing/resource'
import { createCatalogStore, MAX_OF_PAY_TO, MAX_OF_USER, type CatalogEntry } from './catalog-store'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let api: TestFacilitator['api']
let client: Awaited<ReturnType<typeof newClient>>
let aheadMs = 0

beforeAll(async () => {
  const now = () => new Date(Date.now() + aheadMs)
  facilitator = await testFacilitator({ now })
  api = facilitator.api
  client = await newClient(api)
})
afterEach(async () => {
  aheadMs = 0
  await facilitator.database.prisma.catalogedResource.deleteMany()
})
afterAll(closeAll)

type Item = DiscoveredResourceV2
const listed = async <I = Item>(query: object = {}, path = '/api/v2/discovery/resources') => {
  const answer = await api.get(path).query(query).expect(200)
  return (answer.body as { items: I[] }).items
}

async function settle(body: object, path = '/settle', headers: object = client) {
  const answer = await api
    .post(path)
    .set({ ...headers })
    .send(body)
    .expect(200)
  await facilitator.cataloger.flush()
  const header = answer.headers['extension-responses']
  return {
    result: answer.body as { success: boolean; errorReason: string },
    told: header && decodeJson(header),
  }
}
const PROCESSING = { bazaar: { status: 'processing' } }
const payer = () => newPayer(rpcUrl)
const url = (path: string) => `https://shop.example/${path}`

const entry = (userId: number, changes: Partial<CatalogEntry> = {}): CatalogEntry => ({
  userId,
  x402Version: 2,
  resource: url('weather'),
  origin: 'https://shop.example',
  type: 'http',
  operation: 'GET',
  accepted: way(),
  details: {},
  declared: bazaarOf(),
  paidAt: new Date(),
  ...changes,
})
const userIdOf = async ({ email }: { email: string }) =>
  (await facilitator.database.prisma.user.findUniqueOrThrow({ where: { email } })).id
const count = () => facilitator.database.prisma.catalogedResource.count()

describe('a settled payment of version 2', () => {
  test('lists the resource that it declares, bound to what was paid', async () => {
    const resource = {
      url: url('weather?city=Oslo'),
      description: 'The weather, now',
      mimeType: 'application/json',
      serviceName: 'Weather',
      tags: ['weather', 'forecast'],
      iconUrl: 'https://shop.example/icon.png',
    }
    const body = await declaredPayment(await payer(), { resource })
    expect(await settle(body)).toMatchObject({ result: { success: true }, told: PROCESSING })
    const { amount, asset, payTo, network } = body.paymentRequirements
    const [item, ...others] = await listed({ extensions: 'bazaar' })
    expect(others).toEqual([])
    expect(item).toEqual({
      resource: url('weather'),
      type: 'http',
      x402Version: 2,
      accepts: [
        {
          scheme: 'exact',
          network,
          amount,
          asset,
          payTo,
          maxTimeoutSeconds: 60,
          extra: { name: 'USDC', version: '2' },
        },
      ],
      description: 'The weather, now',
      mimeType: 'application/json',
      serviceName: 'Weather',
      tags: ['weather', 'forecast'],
      iconUrl: 'https://shop.example/icon.png',
      extensions: { bazaar: bazaarOf() },
      lastUpdated: expect.any(String) as string,
      metadata: {},
      source: 'cataloged',
      verified: false,
    })
    expect(Math.abs(Date.parse(item!.lastUpdated) - Date.now())).toBeLessThan(60_000)
    expect(await listed({ type: 'mcp' })).toEqual([])
    expect(await listed({}, '/discovery/resources')).toEqual([item])
    expect(await listed({ x402Version: '1' }, '/discovery/resources')).toEqual([])
  })

  test('lists nothing if it declares nothing, or what cannot be listed, and is settled all the same', async () => {
    const plain = await settle(await declaredPayment(await payer(), { bazaar: null }))
    expect(plain).toMatchObject({ result: { success: true }, told: undefined })
    for (const changes of [{ bazaar: { info: {} } }, { resource: { url: '/path' } }]) {
      const { result, told } = await settle(await declaredPayment(await payer(), changes))
      expect([result.success, told]).toMatchObject([true, { bazaar: { status: 'rejected' } }])
    }
    expect(await count()).toBe(0)
  })

  test('is settled, and quickly, while the catalog cannot be written', async () => {
    await facilitator.database.pool.query('ALTER TABLE cataloged_resources RENAME TO elsewhere')
    try {
      const body = await declaredPayment(await payer())
      await api
        .post('/settle')
        .set(client)
        .send(body)
        .expect(200, /"success":true/)
      await expect(facilitator.cataloger.flush()).rejects.toThrow('cataloged_resources')
    } finally {
      await facilitator.database.pool.query('ALTER TABLE elsewhere RENAME TO cataloged_resources')
    }
    await settle(await declaredPayment(await payer()))
    expect(await count()).toBe(1)
  })

  test.each<[string, object]>([
    ['of less than the least of the asset', { maxAmountRequired: '1' }],
    ['in an asset that is not registered', { asset: Wallet.createRandom().address }],
  ])('is refused %s, and lists nothing', async (_, requirements) => {
    await facilitator.database.prisma.asset.updateMany({ data: { minAmount: 100 } })
    const { result, told } = await settle(await declaredPayment(await payer(), { requirements }))
    expect([result.success, told]).toEqual([false, undefined])
    expect(await count()).toBe(0)
  })

  test('lists each recipient, each tool and each method of a URL of its own', async () => {
    const tool = (toolName: string) => ({
      info: { input: { type: 'mcp', toolName, inputSchema: { type: 'object' } } },
      schema: { type: 'object', properties: { input: { type: 'object' } } },
    })
    const payTo = Wallet.createRandom().address
    const resource = { url: url('mcp') }
    for (const bazaar of [tool('one'), tool('two'), tool('one')])
      await settle(await declaredPayment(await payer(), { requirements: { payTo }, resource, bazaar }))
    await settle(await declaredPayment(await payer(), { resource, bazaar: tool('one') }))
    const items = await listed({ type: 'mcp' })
    expect(
      items.map(({ extensions }) => (extensions as ReturnType<typeof named>).bazaar.info.input.toolName),
    ).toEqual(['one', 'two', 'one'])
    expect(await listed({ payTo })).toHaveLength(2)
  })
  const named = () => ({ bazaar: { info: { input: { toolName: '' } } } })

  test('repeated, does not keep the resource in the catalog', async () => {
    const body = await declaredPayment(await payer())
    const headers = { ...client, 'Idempotency-Key': 'again' }
    expect((await settle(body, '/settle', headers)).result.success).toBe(true)
    const { pool, prisma } = facilitator.database
    await pool.query("UPDATE settlements SET settled_at = settled_at - interval '1 day'")
    await pool.query("UPDATE cataloged_resources SET last_paid_at = last_paid_at - interval '1 day'")
    const before = await prisma.catalogedResource.findFirst()
    expect((await settle(body, '/api/v2/settle', headers)).result.success).toBe(true)
    expect(await prisma.catalogedResource.findFirst()).toEqual(before)
  })
})

describe('a settled payment of version 1', () => {
  const outputSchema = {
    input: { type: 'http', method: 'GET', discoverable: true },
    output: { weather: 'string' },
  }

  test('lists a discoverable resource, for clients of version 1', async () => {
    const requirements = { outputSchema, description: 'The weather', resource: url('old') }
    expect(await settle(await paymentRequest(await payer(), { requirements }))).toMatchObject({
      result: { success: true },
      told: PROCESSING,
    })
    const [item] = await listed<DiscoveredResource>({ x402Version: '1' }, '/discovery/resources')
    expect(item).toMatchObject({ resource: url('old'), x402Version: 1, source: 'cataloged', verified: false })
    expect(item?.accepts).toMatchObject([
      { outputSchema, description: 'The weather', maxAmountRequired: '10000' },
    ])
    for (const path of ['/api/v2/discovery/resources', '/discovery/resources'])
      expect(await listed({}, path)).toEqual([])
  })

  test('lists a resource of both versions for clients of both, and is the same payment without its extension', async () => {
    const requirements = { outputSchema, description: 'The weather', resource: url('both/oslo') }
    const body = await paymentRequest(await payer(), { requirements })
    const bazaar = { ...bazaarOf(), routeTemplate: '/both/:city' }
    const headers = { ...client, 'Idempotency-Key': 'both' }
    const first = await settle({ ...body, extensions: { bazaar } }, '/settle', headers)
    expect(first).toMatchObject({ result: { success: true }, told: PROCESSING })
    expect((await settle(body, '/settle', headers)).result).toMatchObject(first.result)

    const { amount, network } = inVersion2(body).paymentRequirements
    expect(await listed({}, '/discovery/resources')).toMatchObject([
      {
        resource: url('both/:city'),
        x402Version: 2,
        description: 'The weather',
        accepts: [{ network, amount }],
        extensions: { bazaar },
      },
    ])
    const [item] = await listed<DiscoveredResource>({ x402Version: '1' }, '/discovery/resources')
    expect(item).toMatchObject({ resource: url('both/oslo'), accepts: [{ outputSchema }] })
  })

  test('lists a declaration that is valid beside one that is not, and says what is wrong', async () => {
    const requirements = { outputSchema, resource: url('old') }
    const body = await paymentRequest(await payer(), { requirements })
    const { result, told } = await settle({ ...body, extensions: { bazaar: { info: {} } } })
    expect([result.success, told]).toMatchObject([true, { bazaar: { status: 'rejected' } }])
    expect(await count()).toBe(1)
  })

  test('lists none that is not discoverable', async () => {
    for (const requirements of [
      {},
      { outputSchema: { input: { ...outputSchema.input, discoverable: false } } },
    ])
      await settle(await paymentRequest(await payer(), { requirements }))
    expect(await count()).toBe(0)
  })
})

describe('the catalog', () => {
  test('does not change registered resources, and lists them first', async () => {
    const { accessToken } = await newUser(api)
    await settle(await declaredPayment(await payer(), { resource: { url: url('weather') } }))
    const id = await newResource(api, accessToken, { x402Version: 2 })
    const before = await facilitator.database.prisma.resource.findUnique({ where: { id } })
    await settle(
      await declaredPayment(await payer(), { resource: { url: url('weather'), description: 'Free!' } }),
    )
    expect(await facilitator.database.prisma.resource.findUnique({ where: { id } })).toEqual(before)
    expect((await listed()).map(({ source }) => source)).toEqual(['registered', 'cataloged', 'cataloged'])
    await facilitator.database.prisma.resource.deleteMany()
  })

  test('lists only its owner’s payments for an origin that names its owner', async () => {
    const [owner, stranger] = [await newUser(api), await newUser(api)]
    const { catalog } = createCatalogStore(facilitator.database)
    const origin = 'https://owned.example'
    for (const user of [owner, stranger])
      await catalog(entry(await userIdOf(user), { resource: `${origin}/x`, origin }))
    const verified = async () => (await listed({ payTo: way().payTo })).map((item) => item.verified)
    expect(await verified()).toEqual([false, false])
    const proof = { userId: await userIdOf(owner), origin, result: 'verified' }
    await facilitator.database.prisma.resourceOrigin.create({ data: { ...proof, verifiedAt: new Date() } })
    expect(await verified()).toEqual([true])
    aheadMs = 8 * 86_400_000
    expect(await verified()).toEqual([false, false])
    await facilitator.database.prisma.resourceOrigin.deleteMany()
  })

  test('hides what a disabled user’s keys paid', async () => {
    const user = await newUser(api)
    const { catalog } = createCatalogStore(facilitator.database)
    await catalog(entry(await userIdOf(user)))
    expect(await listed()).toHaveLength(1)
    const { prisma } = facilitator.database
    await prisma.user.update({ where: { email: user.email }, data: { disabledAt: new Date() } })
    expect(await listed()).toEqual([])
  })

  test('merges the payment options of a resource, the newest first, at most 16', async () => {
    const userId = await userIdOf(await newUser(api))
    const { catalog } = createCatalogStore(facilitator.database)
    for (let index = 0; index < 18; index++)
      await catalog(entry(userId, { accepted: way({ asset: `0x${index}` }) }))
    await catalog(entry(userId, { accepted: way({ asset: '0x5', maxAmountRequired: '7' }) }))
    const [row, ...others] = await facilitator.database.prisma.catalogedResource.findMany()
    expect(others).toEqual([])
    const accepts = row!.accepts as { asset: string; maxAmountRequired: string }[]
    expect(row!.offers).toEqual(accepts.map(({ asset }) => `base-sepolia ${asset}`))
    expect(accepts).toHaveLength(16)
    expect(accepts.slice(0, 2)).toMatchObject([{ asset: '0x5', maxAmountRequired: '7' }, { asset: '0x17' }])
    expect(accepts.filter(({ asset }) => asset === '0x5')).toHaveLength(1)
  })

  test('is bounded for each user and recipient, also when replicas write at once', async () => {
    const userId = await userIdOf(await newUser(api))
    const fill = (number: number, payTo: string, age: string) =>
      facilitator.database.pool.query(
        `INSERT INTO cataloged_resources (user_id, x402_version, resource, origin, type, operation, pay_to, accepts,
           offers, details, declared, last_paid_at)
         SELECT $1, 2, 'https://shop.example/' || n, 'https://shop.example', 'http', 'GET', ${payTo}, '[{}]',
           '{x}', '{}', '{}', now() - interval '${age}' FROM generate_series(1, $2::int) AS n`,
        [userId, number],
      )
    await fill(MAX_OF_USER, "'0x' || (n % 10)", '2 days')
    const stores = [1, 2].map(() => createCatalogStore(facilitator.database))
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores[index % 2]!.catalog(entry(userId, { resource: url(`new-${index}`) })),
      ),
    )
    expect(await count()).toBe(MAX_OF_USER)
    expect(await facilitator.database.prisma.catalogedResource.count({ where: { payTo: way().payTo } })).toBe(
      20,
    )

    await facilitator.database.prisma.catalogedResource.deleteMany()
    await fill(MAX_OF_PAY_TO, `'${way().payTo}'`, '2 days')
    const other = await userIdOf(await newUser(api))
    for (const user of [userId, other]) await stores[0]!.catalog(entry(user))
    // A stranger's payments do not push out those of the recipient's own keys.
    expect(await facilitator.database.prisma.catalogedResource.count({ where: { userId } })).toBe(
      MAX_OF_PAY_TO,
    )
    expect(await count()).toBe(MAX_OF_PAY_TO + 1)
  })
})
