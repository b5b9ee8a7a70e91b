import { closeAll } from '@tollgate/testing'
import { newClient, newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { bearer, newResource, PAY_TO, registration, resourcesOf, way } from '../testing/resource'

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let owner: string

beforeAll(async () => {
  facilitator = await testFacilitator()
  api = facilitator.api
  owner = (await newUser(api)).accessToken
})
afterAll(closeAll)

const post = (body: object, token = owner) => api.post('/api/v1/resources').set(bearer(token)).send(body)
const put = (id: number, body: object, token = owner) =>
  api.put(`/api/v1/resources/${id}`).set(bearer(token)).send(body)

async function newAdmin() {
  const user = await newUser(api)
  await facilitator.database.prisma.user.update({ where: { email: user.email }, data: { isAdmin: true } })
  return user.accessToken
}

const noText = [null, 5, true, {}, [], '']

describe('2. Registered resource', () => {
  const wrong: Record<string, unknown[]> = {
    resource: [...noText, 'weather', '//evil.example', '/\\evil.example', 'ftp://shop.example/', 'https://'],
    type: [...noText, 'HTTP', 'two words', 'x'.repeat(33), '\u0000'],
    x402Version: [null, '1', 0, 3, 1.5, -1, true, {}],
    accepts: [null, {}, 'exact', [], [null], ['exact'], Array(17).fill(way())],
    metadata: [null, 5, 'text', true, [], { a: '\u0000' }, { a: 'x'.repeat(8_192) }],
  }

  test.each(Object.entries(wrong))('%s | anything else: 400, and nothing is kept', async (field, values) => {
    const id = await newResource(api, owner)
    const before = await resourcesOf(api, { limit: 200 })
    const isRequired = field !== 'metadata'
    for (const value of isRequired ? [undefined, ...values] : values) {
      const body = registration({ [field]: value })
      for (const answer of [await post(body), await put(id, body)]) {
        expect([field, value, ...outcomeOf(answer)]).toEqual([field, value, 400, 'INVALID_REQUEST'])
        const pattern = new RegExp(String.raw`\b${field}(\[0\])?(\.a)?:`)
        expect((answer.body as { message: string }).message).toMatch(pattern)
      }
    }
    expect(await resourcesOf(api, { limit: 200 })).toEqual(before)
  })

  test.each(['https://shop.example/weather', 'http://shop.example', '/weather'])(
    'resource | string | protected URL path: %s',
    async (resource) => {
      await post(registration({ resource })).expect(201)
    },
  )

  test.each(['endpoint', 'http', 'mcp', 'a-b_2'])('type | string | e.g. `endpoint`: %s', async (type) => {
    await post(registration({ type })).expect(201)
  })

  test.each([1, 2])('x402Version | integer: %i', async (x402Version) => {
    await post(registration({ x402Version })).expect(201)
  })

  const invalidOptions: Record<string, unknown[]> = {
    scheme: [...noText, 'upto', 'Exact'],
    network: [...noText, 'base', 'x'.repeat(129)],
    maxAmountRequired: [...noText, '0', '-1', '1.5', '1e4', 10_000],
    asset: [...noText, PAY_TO, 'USDC', 'x'.repeat(257)],
    payTo: [...noText, 'shop.eth', '0x12', 'x'.repeat(257)],
  }
  test.each(Object.entries(invalidOptions))(
    'accepts | each item: %s | anything else: 400',
    async (field, values) => {
      for (const value of [undefined, ...values]) {
        const answer = await post(registration({ accepts: [way({ [field]: value })] }))
        expect([value, ...outcomeOf(answer)]).toEqual([value, 400, 'INVALID_REQUEST'])
        expect((answer.body as { message: string }).message).toContain(`accepts[0].${field}: `)
      }
    },
  )

  test('accepts | array: several ways to pay, in their order', async () => {
    const accepts = ['30000', '10000', '20000'].map((maxAmountRequired) => way({ maxAmountRequired }))
    const id = await newResource(api, owner, { accepts })
    const { resources } = await resourcesOf(api, { limit: 200 })
    expect(resources.find((resource) => resource.id === id)?.accepts).toEqual(accepts)
  })

  test('metadata | object: any; left out it is empty', async () => {
    await post(registration({ metadata: undefined })).expect(201)
    expect((await resourcesOf(api, { limit: 200 }, owner)).resources.at(-1)?.metadata).toEqual({})
  })
})

describe('3. Asset', () => {
  test('assets must be registered before use in payment requirements', async () => {
    const { prisma } = facilitator.database
    const asset = '0x00000000000000000000000000000000000000AA'
    const body = registration({ accepts: [way({ asset })] })
    expect(outcomeOf(await post(body))).toEqual([400, 'INVALID_REQUEST'])
    await prisma.asset.create({
      data: { network: 'base-sepolia', asset, symbol: 'T', decimals: 6, name: 'T', version: '1' },
    })
    await post(body).expect(201)
  })
})

describe('4. POST /resources', () => {
  test('request | registered resource | response 201: `data` with `status`', async () => {
    const answer = await post(registration()).expect(201)
    expect(answer.body).toEqual({ data: { status: 'created', id: expect.any(Number) as number } })
  })

  test('the created resource is listed with every field it was sent with', async () => {
    const { accessToken } = await newUser(api)
    const body = registration({ type: 'endpoint', resource: '/weather', metadata: { price: 'fair' } })
    const id = await newResource(api, accessToken, body)
    const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/) as string
    expect((await resourcesOf(api, {}, accessToken)).resources).toEqual([
      {
        id,
        ...body,
        createdAt: time,
        updatedAt: time,
        owner: expect.any(String) as string,
        verified: false,
        verifiedAt: null,
        ownership: 'unchecked',
      },
    ])
  })
})

describe('4. PUT /resources/:id', () => {
  test('request | same shape as create | response 200: `data` with `updated`, the id', async () => {
    const id = await newResource(api, owner)
    const body = registration({ resource: '/new', x402Version: 2, metadata: {} })
    expect((await put(id, body).expect(200)).body).toEqual({ data: { updated: id } })
    const { resources } = await resourcesOf(api, { limit: 200 })
    expect(resources.find((resource) => resource.id === id)).toMatchObject(body)
  })

  test('path | `id` is the resource database id | unknown: 404', async () => {
    expect(outcomeOf(await put(2_000_000_000, registration()))).toEqual([404, 'NOT_FOUND'])
  })

  test('path | another user’s: 403, for an admin 200', async () => {
    const id = await newResource(api, owner)
    const { accessToken } = await newUser(api)
    expect(outcomeOf(await put(id, registration(), accessToken))).toEqual([403, 'FORBIDDEN'])
    await put(id, registration(), await newAdmin()).expect(200)
  })
})

describe.each([
  ['/users/resources', true],
  ['/resources', false],
])('4. GET %s', (path, isOwn) => {
  const SIZE = 105
  let reader: string
  let ids: number[]
  beforeAll(async () => {
    await facilitator.database.prisma.resource.deleteMany()
    reader = (await newUser(api)).accessToken
    ids = []
    for (let index = 0; index < SIZE; index++) {
      ids.push(await newResource(api, reader))
      if (isOwn && index % 20 === 0) await newResource(api, owner)
    }
  })
  const get = (query: object | string = {}) => {
    const request = api.get(`/api/v1${path}`).query(query)
    return isOwn ? request.set(bearer(reader)) : request
  }
  type Page = { data: { resources: { id: number }[]; offset: number; limit: number } }
  const page = async (query: object = {}) => ((await get(query).expect(200)).body as Page).data
  const idsOf = ({ resources }: Page['data']) => resources.map(({ id }) => id)

  test(isOwn ? 'lists the caller’s resources' : 'lists all resources', async () => {
    expect(idsOf(await page({ limit: 200 }))).toEqual(ids)
  })

  test('8. query | limit | default 100, at most 200', async () => {
    const { resources, limit } = await page()
    expect([resources.length, limit]).toEqual([100, 100])
    for (const size of [1, 101, 200]) {
      const found = await page({ limit: size })
      expect([found.resources.length, found.limit]).toEqual([Math.min(size, SIZE), size])
    }
  })

  test('8. query | offset | default 0', async () => {
    expect((await page()).offset).toBe(0)
    expect(idsOf(await page())).toEqual(ids.slice(0, 100))
    const found = await page({ offset: 100 })
    expect([idsOf(found), found.offset]).toEqual([ids.slice(100), 100])
    expect(idsOf(await page({ offset: 3, limit: 4 }))).toEqual(ids.slice(3, 7))
    expect(idsOf(await page({ offset: SIZE }))).toEqual([])
  })

  test.each(['limit', 'offset'])('query | %s | anything else: 400', async (field) => {
    const values = ['', 'NaN', '-1', '1.5', '1e9', '0x10', '+5', ' 5', '05', '99999999999', '１']
    for (const value of field === 'limit' ? [...values, '0', '201'] : values)
      expect([value, ...outcomeOf(await get({ [field]: value }))]).toEqual([value, 400, 'INVALID_REQUEST'])
    expect(outcomeOf(await get(`${field}=1&${field}=2`))).toEqual([400, 'INVALID_REQUEST'])
  })

  test(isOwn ? 'authentication | bearer user token' : 'authentication | none', async () => {
    const anonymous = await api.get(`/api/v1${path}`)
    expect(outcomeOf(anonymous)).toEqual(isOwn ? [401, 'UNAUTHORIZED'] : [200, undefined])
  })
})

describe('5. Authentication, 7. Errors', () => {
  test('resources writes and user resources | bearer user token | missing or invalid: 401 UNAUTHORIZED', async () => {
    const id = await newResource(api, owner)
    const client = await newClient(api)
    const requests = () => [
      api.post('/api/v1/resources').send(registration()),
      api.put(`/api/v1/resources/${id}`).send(registration()),
      api.get('/api/v1/users/resources'),
    ]
    const headers = ['', 'Bearer', `Bearer ${owner}x`, `Basic ${owner}`, owner].map((Authorization) => ({
      Authorization,
    }))
    for (const header of [...headers, client])
      for (const request of requests())
        expect([header, ...outcomeOf(await request.set(header))]).toEqual([header, 401, 'UNAUTHORIZED'])
  })

  test('INVALID_REQUEST | 400 | malformed JSON or missing required fields', async () => {
    const id = await newResource(api, owner)
    for (const body of [
      '{',
      '',
      'null',
      '[]',
      '"x"',
      '{}',
      '{"resource":"/a","resource":"/b"}',
      '\ufeff{}',
    ]) {
      const sent = (request: ReturnType<typeof api.post>) =>
        request.set(bearer(owner)).type('json').send(body)
      for (const answer of [
        await sent(api.post('/api/v1/resources')),
        await sent(api.put(`/api/v1/resources/${id}`)),
      ])
        expect([body, ...outcomeOf(answer)]).toEqual([body, 400, 'INVALID_REQUEST'])
    }
  })

  test('error body | `code`, `message`, and nothing of what was sent', async () => {
    const answer = await post(registration({ accepts: [way({ asset: 'a-secret' })] }))
    expect(answer.body).toEqual({
      code: 'INVALID_REQUEST',
      message: expect.not.stringContaining('a-secret') as string,
    })
  })
})
