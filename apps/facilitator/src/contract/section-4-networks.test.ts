import { deployFaultyToken, USDC_ADDRESS } from '@tollgate/devnet'
import { type Asset, type NetworkKind } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { isAddress } from 'ethers'
import { callRpc, newPayer, newSigner, sharedChain } from '../testing/chain'
import { newClient, newUser, testFacilitator, type Api, type ClientHeaders } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { paymentRequest } from '../testing/payment'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
const MALFORMED = [400, 'INVALID_REQUEST']
const UNAUTHORIZED = [401, 'UNAUTHORIZED']
const rpcUrl = sharedChain()

let api: Api
let client: ClientHeaders
let accessToken: string
let feePayer: string
beforeAll(async () => {
  const signer = await newSigner(rpcUrl)
  feePayer = signer.address
  const signerKeys = [signer.privateKey]
  const away = { name: 'away', chainId: '1', rpcUrls: ['http://127.0.0.1:9'], signerKeys }
  ;({ api } = await testFacilitator({ rpcUrl, signerKeys, networks: [away], variables: { ADMIN_TOKEN } }))
  client = await newClient(api)
  ;({ accessToken } = await newUser(api))
})
afterAll(closeAll)

type Body = Record<string, unknown>
type Headers = Record<string, string>
const get = async (path: string, headers: Headers = {}) =>
  (
    await api
      .get(path)
      .set(headers)
      .expect(200)
      .expect('content-type', /^application\/json\b/)
  ).body as Body
const dataOf = async <T>(path: string) => (await get(path)).data as T
const kindsOf = async (path: string, headers: Headers = {}) =>
  (await get(path, headers)).kinds as NetworkKind[]

const typesOf = (value: object): Body =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      Number.isInteger(member) ? 'integer' : Array.isArray(member) ? 'array' : typeof member,
    ]),
  )

const kindTypes = {
  x402Version: 'integer',
  scheme: 'string',
  network: 'string',
  status: 'string',
  block: 'integer',
  feePayer: 'string',
}
const assetTypes = {
  id: 'integer',
  network: 'string',
  asset: 'string',
  symbol: 'string',
  decimals: 'integer',
  active: 'boolean',
}

describe('2. Network kind', () => {
  test('every field with its type, and no other, in /networks and /supported', async () => {
    for (const kinds of [await kindsOf('/api/v1/networks'), await kindsOf('/api/v1/supported', client)])
      expect(kinds.map(typesOf)).toEqual([kindTypes])
  })

  test('x402Version 1 | scheme `exact` | network: the name | status `active` | feePayer: address', async () => {
    const [kind] = await kindsOf('/api/v1/networks')
    expect(kind).toMatchObject({ x402Version: 1, scheme: 'exact', network: 'base-sepolia', status: 'active' })
    expect(kind?.feePayer).toBe(feePayer)
    expect(isAddress(kind?.feePayer)).toBe(true)
  })

  test('block | integer: the chain’s own, seconds old at most', async () => {
    const height = Number(await callRpc(rpcUrl, 'eth_blockNumber'))
    const [kind] = await kindsOf('/api/v1/networks')
    expect(kind?.block).toBeGreaterThan(height - 20)
    expect(kind?.block).toBeLessThanOrEqual(Number(await callRpc(rpcUrl, 'eth_blockNumber')))
  })

  test('extra | object | only in the single-network response; holds `feePayer`', async () => {
    const one = await get('/api/v1/networks/base-sepolia')
    expect(typesOf(one)).toEqual({ ...kindTypes, extra: 'object' })
    expect(one.extra).toEqual({ feePayer })
  })
})

describe('2. Asset', () => {
  test('every field with its type, and no other', async () => {
    expect((await dataOf<Asset[]>('/api/v1/assets')).map(typesOf)).toEqual([assetTypes])
  })
})

describe('2. System status', () => {
  test('status, version, uptime, networks (network kinds), database (object with status)', async () => {
    const status = await dataOf<{ networks: NetworkKind[]; database: object }>('/api/v1/status')
    expect(typesOf(status)).toEqual({
      status: 'string',
      version: 'string',
      uptime: 'integer',
      networks: 'array',
      database: 'object',
    })
    expect(typesOf(status.database)).toEqual({ status: 'string' })
    expect(status.networks.map(typesOf)).toEqual([kindTypes, kindTypes])
  })
})

describe('3. Asset', () => {
  const registration = async (changes: Body = {}) => ({
    network: 'base-sepolia',
    asset: await deployFaultyToken(rpcUrl),
    symbol: 'FLT',
    decimals: 6,
    active: true,
    ...changes,
  })
  const register = (body: object) => api.post('/api/v1/admin/assets').set(asAdmin).send(body)

  test('(none) | POST /admin/assets | admin token | registered', async () => {
    const body = await registration()
    await register(body).expect(200)
    expect(await dataOf<Asset[]>('/api/v1/assets')).toContainEqual({
      id: expect.any(Number) as number,
      ...body,
    })
  })

  test('(none) | POST /admin/assets | no admin token | (none)', async () => {
    const body = await registration()
    const path = '/api/v1/admin/assets'
    expect(outcomeOf(await api.post(path).send(body))).toEqual(UNAUTHORIZED)
    expect(await dataOf<Asset[]>('/api/v1/assets')).not.toContainEqual(expect.objectContaining(body))
  })

  test('assets must be registered before use in payment requirements, and active', async () => {
    const body = await registration()
    const reasonsOf = async () => {
      const { asset } = body
      const request = await paymentRequest(await newPayer(rpcUrl), { requirements: { asset } })
      const verified = await api.post('/api/v1/verify').set(client).send(request).expect(200)
      const settled = await api.post('/api/v1/settle').set(client).send(request).expect(200)
      return [(verified.body as Body).invalidReason, (settled.body as Body).errorReason]
    }
    const refused = ['invalid_payment_requirements', 'invalid_payment_requirements']
    expect(await reasonsOf()).toEqual(refused)
    await register({ ...body, active: false }).expect(200)
    expect(await reasonsOf()).toEqual(refused)
    // The asset is active now, but the payer signs in another token's EIP-712 domain.
    await register(body).expect(200)
    const domain = { extra: { name: 'Faulty', version: '1' }, asset: body.asset }
    const request = await paymentRequest(await newPayer(rpcUrl), { requirements: domain })
    const verified = await api.post('/api/v1/verify').set(client).send(request).expect(200)
    expect(verified.body).toMatchObject({ invalidReason: 'invalid_exact_evm_payload_signature' })
  })
})

describe('3. Network', () => {
  test('status `active` is the only one offered', async () => {
    for (const { status } of await kindsOf('/api/v1/networks')) expect(status).toBe('active')
    expect(outcomeOf(await api.get('/api/v1/networks/away'))).toEqual([503, 'UNAVAILABLE'])
  })
})

describe('4. GET /health', () => {
  test('given without the prefix; no authentication; status, timestamp (integer), version', async () => {
    const health = await get('/health')
    expect(typesOf(health)).toEqual({ status: 'string', timestamp: 'integer', version: 'string' })
    expect(Math.abs(Number(health.timestamp) - Date.now() / 1000)).toBeLessThan(60)
    expect(outcomeOf(await api.get('/api/v1/health'))).toEqual([404, 'NOT_FOUND'])
  })
})

describe('4. GET /api/v1/status', () => {
  test('no authentication; `data` holding system status; the version is that of /health', async () => {
    const health = await get('/health')
    expect(await get('/api/v1/status')).toEqual({
      data: {
        status: 'degraded',
        version: health.version,
        uptime: expect.any(Number) as number,
        networks: [
          { ...(await kindsOf('/api/v1/networks'))[0], block: expect.any(Number) as number },
          { x402Version: 1, scheme: 'exact', network: 'away', status: 'unreachable', block: 0, feePayer },
        ],
        database: { status: 'ok' },
      },
    })
  })
})

describe('4. GET /networks', () => {
  test('no authentication; `kinds`, an array of network kinds, unwrapped; only enabled networks', async () => {
    const body = await get('/api/v1/networks', { Authorization: 'Bearer nonsense' })
    expect(Object.keys(body)).toEqual(['kinds'])
    expect((body.kinds as NetworkKind[]).map(({ network }) => network)).toEqual(['base-sepolia'])
  })
})

describe('4. GET /networks/:id', () => {
  test('`id` is the network name; one network kind including `extra`, unwrapped', async () => {
    const [kind] = await kindsOf('/api/v1/networks')
    const block = expect.any(Number) as number
    expect(await get('/api/v1/networks/base-sepolia')).toEqual({ ...kind, block, extra: { feePayer } })
  })

  test('unknown network: 400 INVALID_REQUEST, message indicating an unsupported network', async () => {
    for (const id of ['base', 'BASE-SEPOLIA', 'x%00', 'a'.repeat(10_000)]) {
      const answer = await api.get(`/api/v1/networks/${id}`)
      expect(outcomeOf(answer)).toEqual(MALFORMED)
      expect((answer.body as { message: string }).message).toMatch(/unsupported network/i)
    }
  })
})

describe('4. GET /assets', () => {
  test('no authentication; `data`, an array of assets; only registered, active assets', async () => {
    const usdc = { network: 'base-sepolia', asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6 }
    const isListed = async () =>
      (await dataOf<Asset[]>('/api/v1/assets')).some(({ asset }) => asset === usdc.asset)
    expect(await isListed()).toBe(true)
    await api
      .post('/admin/assets')
      .set(asAdmin)
      .send({ ...usdc, active: false })
      .expect(200)
    expect(await isListed()).toBe(false)
    await api
      .post('/admin/assets')
      .set(asAdmin)
      .send({ ...usdc, active: true })
      .expect(200)
    expect(await isListed()).toBe(true)
    for (const { active } of await dataOf<Asset[]>('/api/v1/assets')) expect(active).toBe(true)
  })
})

describe('4. GET /supported', () => {
  test('same response as /networks', async () => {
    const anyBlock = (kinds: NetworkKind[]) => kinds.map((kind) => ({ ...kind, block: 0 }))
    const supported = await get('/api/v1/supported', client)
    expect(Object.keys(supported)).toEqual(['kinds'])
    expect(anyBlock(supported.kinds as NetworkKind[])).toEqual(anyBlock(await kindsOf('/api/v1/networks')))
  })

  test('requires client headers, so it can confirm a client key is active', async () => {
    const supported = async (headers: Headers) => outcomeOf(await api.get('/api/v1/supported').set(headers))
    expect(await supported({})).toEqual(UNAUTHORIZED)
    expect(await supported({ Authorization: `Bearer ${accessToken}` })).toEqual(UNAUTHORIZED)
    expect(await supported({ ...client, 'X-Client-Token': 'wrong' })).toEqual(UNAUTHORIZED)

    const user = { Authorization: `Bearer ${accessToken}` }
    const created = await api.post('/api/v1/clients').set(user).send({ title: 'Test' }).expect(200)
    const { clientId, token } = (created.body as { data: { client: Record<string, string> } }).data.client
    const key = { 'X-Client-ID': clientId ?? '', 'X-Client-Token': token ?? '' }
    expect(await supported(key)).toEqual([200, undefined])
    await api.delete(`/api/v1/clients/${clientId}`).set(user).expect(200)
    expect(await supported(key)).toEqual(UNAUTHORIZED)
  })
})

describe('4. POST /admin/assets', () => {
  const usdc = { network: 'base-sepolia', asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6, active: true }

  test.each(['/admin/assets', '/api/v1/admin/assets'])(
    '%s | admin token; network, asset, symbol, decimals, active',
    async (path) => {
      const send = (body: object, headers: Headers = asAdmin) => api.post(path).set(headers).send(body)
      const answer = await send(usdc).expect(200)
      expect(answer.body).toEqual({ data: { id: expect.any(Number) as number, ...usdc } })
      expect(outcomeOf(await send(usdc, {}))).toEqual(UNAUTHORIZED)
      expect(outcomeOf(await send(usdc, { Authorization: `Bearer ${accessToken}` }))).toEqual(UNAUTHORIZED)
      expect(outcomeOf(await send(usdc, client))).toEqual(UNAUTHORIZED)
    },
  )

  const noText = [undefined, null, 5, true, {}, ['x'], '', 'x'.repeat(10_000)]
  test.each<[string, unknown[]]>([
    ['network', noText],
    ['asset', [...noText, ' ', `${USDC_ADDRESS} `, '\u0000', 'ａ']],
    ['symbol', [...noText, ' ', 'US DC', 'U\u0000', 'ＵＳＤＣ', 'USDC\r\nX: y']],
    ['decimals', [undefined, null, '6', 6.5, -1, 78, 1e300, true, [6]]],
    ['active', [null, 'true', 1, {}]],
  ])('%s | missing or of another type: 400 INVALID_REQUEST that names it', async (field, wrong) => {
    for (const value of wrong) {
      const answer = await api
        .post('/admin/assets')
        .set(asAdmin)
        .send({ ...usdc, [field]: value })
      expect([value, ...outcomeOf(answer)]).toEqual([value, ...MALFORMED])
      expect((answer.body as { message: string }).message).toContain(`${field}: `)
    }
  })

  test('malformed JSON, or no object: 400 INVALID_REQUEST', async () => {
    for (const body of ['', '{', '[]', 'null', '5', '{"network":"base-sepolia"', '"text"']) {
      const request = api.post('/admin/assets').set(asAdmin).set('Content-Type', 'application/json')
      expect([body, ...outcomeOf(await request.send(body))]).toEqual([body, ...MALFORMED])
    }
  })
})

describe('7. Errors', () => {
  test('1. body: code, message, optional details', async () => {
    const answers = await Promise.all([
      api.get('/api/v1/networks/base'),
      api.get('/api/v1/networks/away'),
      api.get('/api/v1/supported'),
      api.post('/admin/assets').send({}),
      api.post('/admin/assets').set(asAdmin).send({}),
    ])
    for (const { body } of answers)
      expect([
        { code: 'string', message: 'string' },
        { code: 'string', message: 'string', details: 'string' },
      ]).toContainEqual(typesOf(body as object))
    expect(answers.map(({ status }) => status)).toEqual([400, 503, 401, 401, 400])
  })
})

describe('9. Versioning', () => {
  test('all routes except /health sit under the prefix /api/v1; /supported also at the root', async () => {
    for (const path of ['/status', '/networks', '/networks/base-sepolia', '/assets'])
      expect(outcomeOf(await api.get(path).set(client))).toEqual([404, 'NOT_FOUND'])
  })
})
