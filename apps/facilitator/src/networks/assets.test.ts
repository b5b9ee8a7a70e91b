import { alterFaultyToken, deployFaultyToken, USDC_ADDRESS, type TokenFault } from '@tollgate/devnet'
import { type Asset } from '@tollgate/protocol'
import { closeAll, readableLog } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { newPayer, newSigner, ownChain, sharedChain } from '../testing/chain'
import { newClient, newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { paymentRequest } from '../testing/payment'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
const INVALID = [400, 'INVALID_REQUEST']
const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let api: TestFacilitator['api']

beforeAll(async () => {
  const signerKeys = [(await newSigner(rpcUrl)).privateKey]
  facilitator = await testFacilitator({ rpcUrl, signerKeys, variables: { ADMIN_TOKEN } })
  api = facilitator.api
})
afterAll(closeAll)

const registration = (changes: Record<string, unknown> = {}) => ({
  network: 'base-sepolia',
  asset: USDC_ADDRESS,
  symbol: 'USDC',
  decimals: 6,
  ...changes,
})
const register = (changes: Record<string, unknown> = {}, of = api) =>
  of.post('/admin/assets').set(asAdmin).send(registration(changes))
const messageOf = ({ body }: { body: unknown }) => (body as { message: string }).message
const listed = async (of = api) =>
  ((await of.get('/api/v1/assets').expect(200)).body as { data: Asset[] }).data

describe('POST /admin/assets registers', () => {
  test('a sound token by its canonical address, with its EIP-712 domain, at both of its paths', async () => {
    const asset = await deployFaultyToken(rpcUrl, { decimals: 18 })
    const facts = { network: 'base-sepolia', asset, symbol: 'ONE', decimals: 18, active: true }
    const first = await register({ asset: asset.toLowerCase(), symbol: 'ONE', decimals: 18 }).expect(200)
    expect(first.body).toEqual({ data: { id: expect.any(Number) as number, ...facts } })
    expect(await facilitator.database.prisma.asset.findFirst({ where: { asset } })).toMatchObject({
      name: 'Faulty',
      version: '1',
    })

    const again = registration({ network: 'eip155:84532', asset, symbol: 'TWO', decimals: 18 })
    const second = await api.post('/api/v1/admin/assets').set(asAdmin).send(again).expect(200)
    const { id } = (first.body as { data: Asset }).data
    expect(second.body).toEqual({ data: { id, ...facts, symbol: 'TWO' } })
    expect(await listed()).toContainEqual({ id, ...facts, symbol: 'TWO' })
  })

  test('one asset as one, however many ask at once', async () => {
    const asset = await deployFaultyToken(rpcUrl, { isProxied: true })
    const answers = await Promise.all(Array.from({ length: 10 }, () => register({ asset })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(new Set(answers.map(({ body }) => (body as { data: Asset }).data.id)).size).toBe(1)
  })

  test('an asset that is not active yet, and none that is not active is listed', async () => {
    const asset = await deployFaultyToken(rpcUrl)
    expect((await register({ asset, active: false }).expect(200)).body).toMatchObject({
      data: { active: false },
    })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ asset }))
    // What is left out stays as it is.
    expect((await register({ asset }).expect(200)).body).toMatchObject({ data: { active: false } })
    expect((await register({ asset, active: true }).expect(200)).body).toMatchObject({
      data: { active: true },
    })
    expect(await listed()).toContainEqual(expect.objectContaining({ asset }))
  })
})

describe('POST /admin/assets refuses, with its own message, and registers nothing:', () => {
  test.each<[TokenFault, RegExp]>([
    ['TakesFee', /takes a fee: of 1000000007 .* got 999900007/],
    ['ChargesPayer', /takes a fee: of 1 the payer lost 2/],
    ['Replayable', /does not revert on an authorization that was used/],
    ['MovesNothing', /moves nothing/],
    ['AnySignature', /a signature of somebody else than the payer/],
    ['NoDomain', /EIP-712 domain cannot be proven/],
    ['NoStandard', /does not take EIP-3009 authorizations/],
    ['Reverts', /fails for a good authorization: .*closed for today/],
    ['Endless', /fails for a good authorization/],
    ['Talkative', /answers more than a word/],
    ['NoTransferEvent', /does not emit/],
    ['HiddenBalance', /cannot be tried out/],
  ])('a token with the fault %s', async (fault, message) => {
    const asset = await deployFaultyToken(rpcUrl, { fault })
    const answer = await register({ asset })
    expect(outcomeOf(answer)).toEqual(INVALID)
    expect(messageOf(answer)).toMatch(message)
    expect(await facilitator.database.prisma.asset.findFirst({ where: { asset } })).toBeNull()
  })

  test('what is no contract, no token, no address, and no asset of a network that is served', async () => {
    const cases: [object, RegExp][] = [
      [{ asset: Wallet.createRandom().address }, /no contract at this address on base-sepolia/],
      [{ asset: '0xcA11bde05977b3631167028862bE2a173976CA11' }, /no ERC-20 token/],
      [{ asset: 'uatom' }, /no EVM address/],
      [{ asset: 'uatom', active: false }, /no EVM address/],
      [{ asset: 'a\u0000', active: false }, /asset: expected printable ASCII/],
      [{ network: 'base' }, /Unsupported network/],
      [{ network: '\u0000' }, /Unsupported network/],
    ]
    for (const [changes, message] of cases) {
      const answer = await register({ ...changes })
      expect([changes, ...outcomeOf(answer)]).toEqual([changes, ...INVALID])
      expect(messageOf(answer)).toMatch(message)
    }
  })

  test('other decimals than the contract’s own, which it names, also once they have changed', async () => {
    const asset = await deployFaultyToken(rpcUrl)
    expect(messageOf(await register({ asset, decimals: 18 }).expect(400))).toMatch(/not 18: .* own is 6/)
    await register({ asset }).expect(200)
    await alterFaultyToken(rpcUrl, asset, { decimals: 18 })
    expect(messageOf(await register({ asset }).expect(400))).toMatch(/not 6: .* own is 18/)
    expect((await register({ asset, decimals: 18 }).expect(200)).body).toMatchObject({
      data: { decimals: 18 },
    })
  })
})

describe('payments', () => {
  test('are taken again once their asset is back in use', async () => {
    const client = await newClient(api)
    const body = await paymentRequest(await newPayer(rpcUrl))
    const verify = async () =>
      (await api.post('/api/v1/verify').set(client).send(body).expect(200)).body as object
    expect(await verify()).toMatchObject({ isValid: true })
    await register({ active: false }).expect(200)
    expect(await verify()).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_payment_requirements',
    })
    await register({ active: true }).expect(200)
    expect(await verify()).toMatchObject({ isValid: true })
  })

  test('are refused in an asset that is not registered, and in one that is not active', async () => {
    const client = await newClient(api)
    const ask = async (path: string, asset: string) =>
      (
        await api
          .post(path)
          .set(client)
          .send(await paymentRequest(await newPayer(rpcUrl), { requirements: { asset } }))
          .expect(200)
      ).body as object
    const refused = await deployFaultyToken(rpcUrl, { fault: 'TakesFee' })
    await register({ asset: refused }).expect(400)
    const retired = await deployFaultyToken(rpcUrl)
    await register({ asset: retired }).expect(200)
    await register({ asset: retired, active: false }).expect(200)

    for (const asset of [refused, retired, Wallet.createRandom().address]) {
      expect(await ask('/api/v1/verify', asset)).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_payment_requirements',
      })
      expect(await ask('/api/v1/settle', asset)).toMatchObject({
        success: false,
        errorReason: 'invalid_payment_requirements',
        transaction: '',
      })
    }
  })
})

describe('an asset is taken out of use', () => {
  test('whatever has become of its token', async () => {
    const asset = await deployFaultyToken(rpcUrl)
    await register({ asset }).expect(200)
    await alterFaultyToken(rpcUrl, asset, { fault: 'Endless', decimals: 3 })
    await register({ asset }).expect(400)
    const retired = await register({ asset: asset.toLowerCase(), active: false }).expect(200)
    expect(retired.body).toMatchObject({ data: { asset, decimals: 6, active: false } })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ asset }))
    await register({ asset, active: true }).expect(400)
  })

  test('while its chain is away; what needs the chain is answered 503 with Retry-After', async () => {
    const chain = await ownChain()
    const signerKeys = [(await newSigner(chain.rpcUrl)).privateKey]
    const away = await testFacilitator({
      rpcUrl: chain.rpcUrl,
      signerKeys,
      variables: { ADMIN_TOKEN },
    })
    expect(await listed(away.api)).toMatchObject([{ asset: USDC_ADDRESS, active: true }])
    await chain.stop()

    for (const changes of [{}, { active: true }, { asset: Wallet.createRandom().address, active: false }]) {
      const answer = await register(changes, away.api)
      expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    await register({ active: false }, away.api).expect(200)
    expect(await listed(away.api)).toEqual([])
  })
})

describe('configured assets', () => {
  test('that are not fit are told in the log, and not registered; the others are', async () => {
    const log = readableLog()
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const hostile = await deployFaultyToken(rpcUrl, { fault: 'Replayable' })
    const sound = await deployFaultyToken(rpcUrl, { decimals: 2 })
    const entry = { symbol: 'FLT', decimals: 6 }
    const assets = [
      { asset: hostile, ...entry },
      { asset: Wallet.createRandom().address, ...entry },
      { asset: USDC_ADDRESS, symbol: 'USDC', decimals: 18 },
      { asset: sound, symbol: 'FLT', decimals: 2 },
    ]
    const networks = [{ name: 'other', assets }]
    const started = await testFacilitator({ rpcUrl, signerKeys, networks, log: log.stream })

    expect(await listed(started.api)).toMatchObject([
      { network: 'base-sepolia', asset: USDC_ADDRESS },
      { network: 'other', asset: sound, decimals: 2 },
    ])
    await log.line('a configured asset is not fit for payments and is not registered')
    const told = log.lines().filter(({ message }) => message.startsWith('a configured asset'))
    expect(told).toMatchObject(
      [
        { level: 'error', network: 'other', asset: hostile, problem: /does not revert/ },
        { level: 'error', network: 'other', problem: /no contract/ },
        { level: 'error', network: 'other', asset: USDC_ADDRESS, problem: /own is 6/ },
      ].map((line) => ({ ...line, problem: expect.stringMatching(line.problem) as string })),
    )
  })

  test('of two replicas that start at once are registered once, and stay out of use once they are', async () => {
    const [one, two] = [await newSigner(rpcUrl), await newSigner(rpcUrl)]
    const variables = { ADMIN_TOKEN }
    const first = await testFacilitator({ rpcUrl, signerKeys: [one.privateKey], variables })
    await first.database.prisma.asset.deleteMany()
    const { databaseUrl } = first
    const second = () => testFacilitator({ rpcUrl, signerKeys: [two.privateKey], databaseUrl, variables })
    const [other] = await Promise.all([second(), second()])
    expect(await listed(other.api)).toHaveLength(1)

    await register({ active: false }, first.api).expect(200)
    const restarted = await second()
    expect(await listed(restarted.api)).toEqual([])
  })
})

describe('POST /admin/assets is for the admin token only', () => {
  test.each(['/admin/assets', '/api/v1/admin/assets'])('%s', async (path) => {
    const { accessToken } = await newUser(api)
    const send = (headers: Record<string, string>) => api.post(path).set(headers).send(registration())
    for (const token of [
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${accessToken}`,
      `Bearer ${ADMIN_TOKEN}x`,
      ADMIN_TOKEN,
    ])
      expect(outcomeOf(await send({ Authorization: token }))).toEqual([401, 'UNAUTHORIZED'])
    expect(outcomeOf(await send({}))).toEqual([401, 'UNAUTHORIZED'])
    expect(outcomeOf(await send({ ...(await newClient(api)) }))).toEqual([401, 'UNAUTHORIZED'])
    expect(outcomeOf(await send(asAdmin))).toEqual([200, undefined])
  })

  test('and where the configuration has none, for nobody', async () => {
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const plain = await testFacilitator({ rpcUrl, signerKeys })
    for (const token of ['', 'Bearer undefined', 'Bearer ', `Bearer ${ADMIN_TOKEN}`]) {
      const answer = await plain.api.post('/admin/assets').set('Authorization', token).send(registration())
      expect(outcomeOf(answer)).toEqual([401, 'UNAUTHORIZED'])
    }
  })
})
