import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, newSigner, ownChain } from '../testing/chain'
import { newClient, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { paymentRequest } from '../testing/payment'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
let rpcUrl: string
let facilitator: TestFacilitator
let api: TestFacilitator['api']
let feePayer: string

beforeAll(async () => {
  rpcUrl = (await ownChain()).rpcUrl
  const signer = await newSigner(rpcUrl)
  feePayer = signer.address
  facilitator = await testFacilitator({ rpcUrl, signerKeys: [signer.privateKey], variables: { ADMIN_TOKEN } })
  api = facilitator.api
})
afterAll(closeAll)

const kind = () => ({
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  status: 'active',
  block: expect.any(Number) as number,
  feePayer,
})

describe('GET /networks', () => {
  test('lists the networks that answer, with who pays the fees', async () => {
    const answer = await api.get('/api/v1/networks').expect(200)
    expect(answer.body).toEqual({ kinds: [kind()] })
  })

  test('knows the newest block within seconds', async () => {
    const mined = async () => Number(await callRpc(rpcUrl, 'eth_blockNumber'))
    const block = async () =>
      ((await api.get('/api/v1/networks/base-sepolia').expect(200)).body as { block: number }).block
    await callRpc(rpcUrl, 'anvil_mine', '0x64')
    const height = await mined()
    const startedAt = performance.now()
    while ((await block()) < height);
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})

describe('GET /networks/:id', () => {
  test('adds extra', async () => {
    for (const id of ['base-sepolia', '84532', 'eip155:84532'])
      expect((await api.get(`/api/v1/networks/${id}`).expect(200)).body).toEqual({
        ...kind(),
        extra: { feePayer },
      })
  })

  test('answers 400 INVALID_REQUEST to an unknown one', async () => {
    for (const id of ['base', 'x%00', '%E2%82%AC', '__proto__']) {
      const answer = await api.get(`/api/v1/networks/${id}`)
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringMatching(/unsupported/i) as string,
      })
    }
  })
})

describe('GET /assets', () => {
  test('lists the configured asset, with what its contract says of itself kept beside it', async () => {
    const answer = await api.get('/api/v1/assets').expect(200)
    const usdc = { network: 'base-sepolia', asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6, active: true }
    expect(answer.body).toEqual({ data: [{ id: expect.any(Number) as number, ...usdc }] })
    expect(await facilitator.database.prisma.asset.findMany()).toMatchObject([
      { ...usdc, name: 'USDC', version: '2' },
    ])
  })
})

describe('POST /admin/assets', () => {
  const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
  const usdc = { network: 'base-sepolia', asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6 }

  test('takes an asset out of use and back, at both of its paths', async () => {
    const client = await newClient(api)
    const body = await paymentRequest(await newPayer(rpcUrl))
    const verify = async () =>
      (await api.post('/api/v1/verify').set(client).send(body).expect(200)).body as object

    await api
      .post('/admin/assets')
      .set(asAdmin)
      .send({ ...usdc, active: false })
      .expect(200)
    expect(await verify()).toMatchObject({ isValid: false, invalidReason: 'invalid_payment_requirements' })
    expect((await api.get('/api/v1/assets').expect(200)).body).toEqual({ data: [] })

    const lowerCase = { ...usdc, asset: USDC_ADDRESS.toLowerCase(), active: true }
    const answer = await api.post('/api/v1/admin/assets').set(asAdmin).send(lowerCase).expect(200)
    expect(answer.body).toMatchObject({ data: { ...usdc, active: true } })
    expect(await verify()).toMatchObject({ isValid: true })
  })

  test('refuses a token that is not there, an unknown network, and what is malformed', async () => {
    const nothing = '0x00000000000000000000000000000000000000aa'
    for (const change of [
      { asset: nothing },
      { asset: '\u0000' },
      { network: 'base' },
      { decimals: -1 },
      { symbol: '' },
    ]) {
      const answer = await api
        .post('/admin/assets')
        .set(asAdmin)
        .send({ ...usdc, ...change })
      expect([answer.status, (answer.body as { code: string }).code]).toEqual([400, 'INVALID_REQUEST'])
    }
  })

  test('is for the admin token only; without one in the configuration, for nobody', async () => {
    for (const token of ['', 'Bearer', 'Bearer ', 'Bearer wrong', `Bearer ${ADMIN_TOKEN}x`, ADMIN_TOKEN])
      await api.post('/admin/assets').set('Authorization', token).send(usdc).expect(401)

    const { databaseUrl } = facilitator
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const plain = await testFacilitator({ rpcUrl, signerKeys, databaseUrl })
    for (const token of ['', 'Bearer undefined', 'Bearer ', `Bearer ${ADMIN_TOKEN}`])
      await plain.api.post('/admin/assets').set('Authorization', token).send(usdc).expect(401)
  })
})

test('GET /health says that the service is up, since when in Unix seconds, and which version', async () => {
  const { body } = (await api.get('/health').expect(200)) as { body: { timestamp: number } }
  expect(body).toEqual({ status: 'ok', timestamp: expect.any(Number) as number, version: '0.1.0' })
  expect(Number.isInteger(body.timestamp)).toBe(true)
  await api.get('/ready').expect(200)
})
