import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { sharedChain } from '../testing/chain'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { bearer, newResource, PAY_TO, registration, resourcesOf, way } from '../testing/resource'
import { MAX_RESOURCES } from './store'

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let signer: string
let owner: string

beforeAll(async () => {
  facilitator = await testFacilitator()
  signer = facilitator.signers[0]!.address
  api = facilitator.api
  owner = (await newUser(api)).accessToken
})
afterAll(closeAll)

const post = (body: object | string, token = owner) =>
  api.post('/api/v1/resources').set(bearer(token)).type('json').send(body)
const put = (id: number | string, body: object | string, token = owner) =>
  api.put(`/api/v1/resources/${id}`).set(bearer(token)).type('json').send(body)
const messageOf = ({ body }: { body: unknown }) => (body as { message?: string }).message ?? ''
const stored = async (id: number) => {
  const found = await facilitator.database.prisma.resource.findUniqueOrThrow({ where: { id } })
  const { resource, type, x402Version, accepts, metadata } = found
  return { resource, type, x402Version, accepts, metadata }
}

async function newAdmin() {
  const user = await newUser(api)
  await facilitator.database.prisma.user.update({ where: { email: user.email }, data: { isAdmin: true } })
  return user.accessToken
}

const withMetadata = (json: string) =>
  JSON.stringify(registration({ metadata: 'METADATA' })).replace('"METADATA"', json)

describe('a payment option', () => {
  test('is stored in the canonical spelling', async () => {
    for (const network of ['base-sepolia', '84532', 'eip155:84532']) {
      const accepts = [way({ network, asset: USDC_ADDRESS.toLowerCase(), payTo: PAY_TO.toLowerCase() })]
      const id = await newResource(api, owner, { accepts })
      expect(await stored(id)).toEqual(registration())
      await put(id, registration({ accepts, x402Version: 2 })).expect(200)
      expect(await stored(id)).toEqual(registration({ x402Version: 2 }))
    }
  })

  const max = (2n ** 256n - 1n).toString()
  test('may cost up to the maximum of a uint256', async () => {
    await post(registration({ accepts: [way({ maxAmountRequired: max })] })).expect(201)
  })

  test.each<[string, () => object, RegExp]>([
    ['an unknown network', () => ({ network: 'base' }), /accepts\[1\]\.network: .*base-sepolia/],
    ['a network in other letters', () => ({ network: 'Base-Sepolia' }), /accepts\[1\]\.network: /],
    ['a network by a member of Object', () => ({ network: '__proto__' }), /accepts\[1\]\.network: /],
    ['an unregistered asset', () => ({ asset: PAY_TO }), /accepts\[1\]\.asset: .*\/api\/v1\/assets/],
    ['an asset that is not an address', () => ({ asset: 'USDC' }), /accepts\[1\]\.asset: /],
    ['an asset with a NUL', () => ({ asset: `${USDC_ADDRESS}\u0000` }), /accepts\[1\]\.asset: /],
    ['an asset with half a character', () => ({ asset: '\ud800' }), /accepts\[1\]\.asset: /],
    [
      'a recipient that is not an address',
      () => ({ payTo: 'shop.eth' }),
      /accepts\[1\]\.payTo: .*base-sepolia/,
    ],
    ['a recipient one digit short', () => ({ payTo: PAY_TO.slice(0, -1) }), /accepts\[1\]\.payTo: /],
    [
      'a recipient in full-width digits',
      () => ({ payTo: PAY_TO.replace('3', '３') }),
      /accepts\[1\]\.payTo: /,
    ],
    [
      'the zero address',
      () => ({ payTo: `0x${'0'.repeat(40)}` }),
      /accepts\[1\]: .*payTo is the zero address/,
    ],
    ['the asset itself', () => ({ payTo: USDC_ADDRESS.toLowerCase() }), /accepts\[1\]: .*payTo is the asset/],
    [
      'one of our signers',
      () => ({ payTo: signer.toLowerCase() }),
      /accepts\[1\]: .*payTo is a settlement signer/,
    ],
    ['an amount of zero', () => ({ maxAmountRequired: '0' }), /accepts\[1\]\.maxAmountRequired: /],
    [
      'an amount past 2^256',
      () => ({ maxAmountRequired: (2n ** 256n).toString() }),
      /accepts\[1\]: .*amount/,
    ],
    ['another scheme', () => ({ scheme: 'upto' }), /accepts\[1\]\.scheme: /],
  ])('is refused with %s, and the answer names it', async (_, change, message) => {
    const body = registration({ accepts: [way(), way(change())] })
    const id = await newResource(api, owner)
    for (const answer of [await post(body), await put(id, body)]) {
      expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
      expect(messageOf(answer)).toMatch(message)
    }
    expect(await stored(id)).toEqual(registration())
  })

  test.each(['1e4', '0x10', ' 10 ', '-0', '+5', '1.0', '５', '', '01', `1${'0'.repeat(80)}`, 10_000, null])(
    'is refused with the amount %j',
    async (maxAmountRequired) => {
      const answer = await post(registration({ accepts: [way({ maxAmountRequired })] }))
      expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
      expect(messageOf(answer)).toMatch(/accepts\[0\]\.maxAmountRequired: /)
    },
  )

  test('names every invalid one', async () => {
    const accepts = [way({ network: 'base' }), way(), way({ payTo: signer }), way({ asset: 'USDC' })]
    expect(messageOf(await post(registration({ accepts })))).toMatch(
      /accepts\[0\]\.network: .*; accepts\[2\]: .*; accepts\[3\]\.asset: /,
    )
  })

  test('cannot be registered in an asset that was deactivated', async () => {
    const deactivated = await facilitator.database.prisma.asset.create({
      data: {
        network: 'base-sepolia',
        asset: Wallet.createRandom().address,
        symbol: 'OLD',
        decimals: 6,
        name: 'Old',
        version: '1',
        active: false,
      },
    })
    const answer = await post(registration({ accepts: [way({ asset: deactivated.asset })] }))
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect(messageOf(answer)).toMatch(/accepts\[0\]\.asset: .*not active/)
  })

  test('may be in an asset that only Permit2 moves, which has no EIP-712 domain', async () => {
    const token = { symbol: 'T', decimals: 6, assetTransferMethod: 'permit2' }
    const { asset } = await facilitator.database.prisma.asset.create({
      data: { network: 'base-sepolia', asset: Wallet.createRandom().address, ...token },
    })
    await post(registration({ accepts: [way({ asset })] })).expect(201)
  })

  test('waits, with 503 and Retry-After, for a network that was never reached', async () => {
    const apart = await testFacilitator({ rpcUrl: 'http://127.0.0.1:9', chainUrl: sharedChain() })
    const { accessToken } = await newUser(apart.api)
    const answer = await apart.api.post('/api/v1/resources').set(bearer(accessToken)).send(registration())
    expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect((await resourcesOf(apart.api)).resources).toEqual([])
    await apart.close()
  })
})

describe('metadata', () => {
  test.each([
    '{}',
    '{"a":[1,-1.5,1e3,0.1,9007199254740991,true,null,"",{"b":[]}]}',
    '{"name":"Ünïcödé 🙂 \u202e","description":"","1":2}',
    `{"long":"${'x'.repeat(4_000)}"}`,
    `${'{"a":'.repeat(8)}1${'}'.repeat(8)}`,
  ])('%.60s is kept unchanged', async (json) => {
    const answer = await post(withMetadata(json)).expect(201)
    const { id } = (answer.body as { data: { id: number } }).data
    const own = await resourcesOf(api, { limit: 200 }, owner)
    expect(own.resources.find((resource) => resource.id === id)?.metadata).toEqual(JSON.parse(json))
  })

  test.each([
    ['a NUL', String.raw`{"a":"\u0000"}`],
    ['a NUL in a name', String.raw`{"\u0000":1}`],
    ['CR and LF', String.raw`{"a":"x\r\ny"}`],
    ['half of a surrogate pair', String.raw`{"a":["\ud800"]}`],
    ['the other half in a name', String.raw`{"\udc00":1}`],
    ['1e400', '{"a":1e400}'],
    ['-1e400', '{"a":[-1e400]}'],
    ['an integer past 2^53', '{"a":{"b":9007199254740993}}'],
    ['a fraction that no double represents', '{"a":0.1234567890123456789}'],
    ['nine levels', `${'{"a":'.repeat(9)}1${'}'.repeat(9)}`],
    ['nine levels of lists', `{"a":${'['.repeat(8)}${']'.repeat(8)}}`],
    ['ten thousand levels', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['more than 4 KiB', `{"a":"${'x'.repeat(4_096)}"}`],
    ['more than 4 KiB in UTF-8', `{"a":"${'ü'.repeat(2_050)}"}`],
    ['many empty texts', `{"a":[${'"",'.repeat(80_000)}""]}`],
    ['a number that a store writes out at length', '{"a":1e300}'],
    ['a number that a store writes out at length behind its point', '{"a":1e-300}'],
    ['a number as long as the body', `{"a":0.1${'0'.repeat(200_000)}1}`],
    ['a key twice', '{"a":1,"a":2}'],
    ['__proto__', '{"__proto__":{"isAdmin":true}}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a text', '"x"'],
  ])('with %s is refused', async (_, json) => {
    const id = await newResource(api, owner)
    for (const answer of [await post(withMetadata(json)), await put(id, withMetadata(json))])
      expect([...outcomeOf(answer), messageOf(answer)]).toEqual([
        400,
        'INVALID_REQUEST',
        expect.stringMatching(/metadata|body/) as string,
      ])
    expect(await stored(id)).toEqual(registration())
  })
})

describe('a resource', () => {
  test.each([
    'https://shop.example/weather?city=Oslo#today',
    'http://[::1]:4021/',
    'https://shop.example',
    '/weather/%2e%2e/:id',
    '/',
    '/a\\b',
  ])('may be %s', async (resource) => {
    expect(await stored(await newResource(api, owner, { resource }))).toEqual(registration({ resource }))
  })

  test.each([
    '',
    'weather',
    '//evil.example/x',
    '/\\evil.example/x',
    'ftp://shop.example/',
    'javascript:alert(1)',
    'https://',
    'https://[',
    'https://[::1',
    'https://shop.example:99999/',
    'https://user:secret@shop.example/',
    'https://shop.example/a b',
    'https://shop.example/\r\nX: y',
    'https://shop.example/\u0000',
    'https://sh\u00f6p.example/',
    `https://shop.example/${'x'.repeat(2_048)}`,
    'HTTPS://shop.example/',
    7,
    null,
    ['https://shop.example/'],
  ])('cannot be %j', async (resource) => {
    const answer = await post(registration({ resource }))
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect(messageOf(answer)).toMatch(/resource: /)
  })

  test('is changed by its owner and by an admin, and by no other user', async () => {
    const id = await newResource(api, owner)
    const { accessToken: other } = await newUser(api)
    const changed = (by: string) => registration({ metadata: { by } })

    const refused = await put(id, changed('another user'), other)
    expect(outcomeOf(refused)).toEqual([403, 'FORBIDDEN'])
    expect(await stored(id)).toEqual(registration())
    expect((await resourcesOf(api, {}, other)).resources).toEqual([])

    expect((await put(id, changed('its owner')).expect(200)).body).toEqual({ data: { updated: id } })
    expect(await stored(id)).toEqual(changed('its owner'))
    await put(id, changed('an admin'), await newAdmin()).expect(200)
    expect(await stored(id)).toEqual(changed('an admin'))
    const own = await resourcesOf(api, { limit: 200 }, owner)
    expect(own.resources.map((resource) => resource.id)).toContain(id)
  })

  test('that does not exist cannot be changed, even by an admin', async () => {
    for (const token of [owner, await newAdmin()])
      expect(outcomeOf(await put(2_147_483_647, registration(), token))).toEqual([404, 'NOT_FOUND'])
  })

  test.each(['0', '-1', '1.5', '1e1', '0x1', '2147483648', 'abc', '%00', '%F0%9F%99%82', '１'])(
    'rejects a number like %s',
    async (id) => expect(outcomeOf(await put(id, registration()))).toEqual([400, 'INVALID_REQUEST']),
  )

  test('is replaced as a whole by an update', async () => {
    const id = await newResource(api, owner, { accepts: [way(), way({ maxAmountRequired: '20000' })] })
    const other = { resource: '/new', type: 'endpoint', x402Version: 2 }
    await put(id, registration({ ...other, metadata: undefined })).expect(200)
    expect(await stored(id)).toEqual(registration({ ...other, metadata: {} }))
  })

  test('is equal to exactly one of several concurrent updates', async () => {
    const id = await newResource(api, owner)
    const bodies = Array.from({ length: 12 }, (_, index) =>
      registration({
        resource: `/${index}`,
        type: `type-${index}`,
        x402Version: 1 + (index % 2),
        accepts: [way({ maxAmountRequired: `${index + 1}` })],
        metadata: { index },
      }),
    )
    const answers = await Promise.all(bodies.map((body) => put(id, body)))
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200))
    expect(bodies).toContainEqual(await stored(id))
  })

  test("accepts only its owner's updates, of two users in a race", async () => {
    const id = await newResource(api, owner)
    const { accessToken: other } = await newUser(api)
    const bodies = (by: string) => Array.from({ length: 6 }, () => registration({ metadata: { by } }))
    const answers = await Promise.all([
      ...bodies('owner').map((body) => put(id, body)),
      ...bodies('other').map((body) => put(id, body, other)),
    ])
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index < 6 ? 200 : 403)))
    expect((await stored(id)).metadata).toEqual({ by: 'owner' })
  })
})

describe('a user', () => {
  test('has at most MAX_RESOURCES, also under concurrency', async () => {
    const { accessToken, email } = await newUser(api)
    await newResource(api, accessToken)
    const { pool, prisma } = facilitator.database
    const { id: userId } = await prisma.user.update({
      where: { email },
      data: { resourceCount: MAX_RESOURCES - 3 },
    })
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(registration(), accessToken)))
    const outcomes = answers.map(outcomeOf)
    expect(outcomes.filter(([status]) => status === 201)).toHaveLength(3)
    expect(outcomes.filter(([, code]) => code === 'CONFLICT')).toHaveLength(17)
    const refused = answers.find(({ status }) => status === 409)
    expect(messageOf(refused ?? { body: {} })).toMatch(/10000.*PUT \/api\/v1\/resources/)

    const { rows } = await pool.query('SELECT count(*)::int FROM resources WHERE user_id = $1', [userId])
    expect(rows).toEqual([{ count: 4 }])
    const { accessToken: other } = await newUser(api)
    await newResource(api, other)
  })
})

describe('pages', () => {
  test('contain every resource once, oldest first, during registrations', async () => {
    const { accessToken } = await newUser(api)
    const { accessToken: other } = await newUser(api)
    const ids: number[] = []
    for (let count = 0; count < 25; count++) ids.push(await newResource(api, accessToken))

    const walked = new AbortController()
    const registering = (async () => {
      while (!walked.signal.aborted) {
        await newResource(api, accessToken)
        await newResource(api, other)
      }
    })()
    const walk = async (token?: string) => {
      const seen: number[] = []
      for (let offset = 0; ; offset += 7) {
        const { resources } = await resourcesOf(api, { offset, limit: 7 }, token)
        seen.push(...resources.map(({ id }) => id))
        // New registrations are at the end, and are not awaited.
        if (resources.length < 7 || ids.every((id) => seen.includes(id))) return seen
      }
    }
    for (const seen of [await walk(accessToken), await walk()]) {
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
      expect(seen).toEqual(expect.arrayContaining(ids))
    }
    walked.abort()
    await registering
  })
})
