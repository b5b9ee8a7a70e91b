import {
  alterFaultyToken,
  alterPlainToken,
  deployFaultyToken,
  deployPlainToken,
  USDC_ADDRESS,
  type PlainTokenTrait,
  type TokenFault,
} from '@tollgate/devnet'
import { type Asset, type FacilitatorDocument } from '@tollgate/protocol'
import { closeAll, readableLog } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { callRpc, newPayer, newSigner, ownChain, sharedChain } from '../testing/chain'
import { newClient, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { startFailingNode } from '../testing/failing-node'
import { outcomeOf } from '../testing/outcome'
import { paymentRequest } from '../testing/payment'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
const INVALID = [400, 'INVALID_REQUEST']
const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let api: TestFacilitator['api']

beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { ADMIN_TOKEN } })
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

async function deployUncleanToken(): Promise<string> {
  const asset = await deployFaultyToken(rpcUrl)
  const code = (await callRpc(rpcUrl, 'eth_getCode', asset, 'latest')) as string
  const [name, withNul] = [Buffer.from('Faulty'), Buffer.from('Fau\0ty')].map((text) => text.toString('hex'))
  await callRpc(rpcUrl, 'anvil_setCode', asset, code.replaceAll(name!, withNul!))
  return asset
}

async function eventually(holds: () => Promise<boolean>, ms = 30_000): Promise<void> {
  for (const until = Date.now() + ms; !(await holds());) {
    if (Date.now() > until) throw new Error(`It does not come true within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

describe('POST /admin/assets registers', () => {
  test('a valid token by its canonical address, with its EIP-712 domain, at both paths', async () => {
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

  test('an asset once under concurrent requests', async () => {
    const asset = await deployFaultyToken(rpcUrl, { isProxied: true })
    const answers = await Promise.all(Array.from({ length: 10 }, () => register({ asset })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(new Set(answers.map(({ body }) => (body as { data: Asset }).data.id)).size).toBe(1)
  })

  test('an inactive asset, which is not listed', async () => {
    const asset = await deployFaultyToken(rpcUrl)
    expect((await register({ asset, active: false }).expect(200)).body).toMatchObject({
      data: { active: false },
    })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ asset }))
    // Omitted members keep their values.
    expect((await register({ asset }).expect(200)).body).toMatchObject({ data: { active: false } })
    expect((await register({ asset, active: true }).expect(200)).body).toMatchObject({
      data: { active: true },
    })
    expect(await listed()).toContainEqual(expect.objectContaining({ asset }))
  })
})

const registerPlain = (asset: string, changes: object = {}) =>
  register({ asset, symbol: 'PLN', decimals: 18, ...changes })

describe('a token without EIP-3009', () => {
  test.each<[PlainTokenTrait, object]>([
    ['Permits', { name: 'Plain', version: '1' }],
    ['Plain', {}],
  ])('that is %s is registered, and listed with how requirements in it say so', async (trait, domain) => {
    const asset = await deployPlainToken(rpcUrl, trait)
    const { body } = (await registerPlain(asset).expect(200)) as { body: { data: Asset } }
    const method = { assetTransferMethod: 'permit2' }
    expect(body.data).toMatchObject({ asset, active: true, ...method })
    expect(await listed()).toContainEqual(body.data)
    const operators = (await api.get('/admin/assets').set(asAdmin).expect(200)).body as {
      data: { assets: Asset[] }
    }
    expect(operators.data.assets).toContainEqual(expect.objectContaining({ asset, ...method }))
    const document = (await api.get('/.well-known/x402').expect(200)).body as FacilitatorDocument
    expect(document.facilitator.assets).toContainEqual(
      expect.objectContaining({ address: asset, extra: { ...method, ...domain } }),
    )
  })

  test('is not paid by EIP-3009: the refusal names Permit2', async () => {
    const client = await newClient(api)
    for (const trait of ['Permits', 'Plain'] as const) {
      const asset = await deployPlainToken(rpcUrl, trait)
      await registerPlain(asset).expect(200)
      const amount = { asset, maxAmountRequired: String(10n ** 16n), extra: {} }
      const payment = await paymentRequest(await newPayer(rpcUrl), { requirements: amount })
      const answer = await api.post('/api/v1/verify').set(client).send(payment).expect(200)
      expect(answer.body).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_payment_requirements',
        invalidMessage: expect.stringMatching(/no EIP-3009 authorizations: pay by Permit2/) as string,
      })
    }
  })

  test.each<[PlainTokenTrait, RegExp]>([
    ['TakesFee', /EIP-3009.* Nor can it be paid by Permit2: transferFrom takes a fee/],
    ['MovesFreely', /EIP-3009.* Nor can it be paid by Permit2: a stranger can move/],
  ])('that is %s is refused with both reasons, and not registered', async (trait, message) => {
    const asset = await deployPlainToken(rpcUrl, trait)
    const answer = await registerPlain(asset)
    expect(outcomeOf(answer)).toEqual(INVALID)
    expect(messageOf(answer)).toMatch(message)
    expect(await facilitator.database.prisma.asset.findFirst({ where: { asset } })).toBeNull()
  })

  test('is retired once it takes a fee, and kept while it is paused', async () => {
    const asset = await deployPlainToken(rpcUrl)
    await registerPlain(asset).expect(200)
    await alterPlainToken(rpcUrl, asset, 'Paused')
    expect(messageOf(await registerPlain(asset).expect(400))).toMatch(/stays as it is$/)
    await alterPlainToken(rpcUrl, asset, 'TakesFee')
    expect(messageOf(await registerPlain(asset).expect(400))).toMatch(/taken out of use/)
    expect(await listed()).not.toContainEqual(expect.objectContaining({ asset }))
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

  test('an address without a contract, a contract that is no token, an invalid address, an unknown network', async () => {
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

  test("decimals that differ from the contract's current ones, which it names", async () => {
    const asset = await deployFaultyToken(rpcUrl)
    expect(messageOf(await register({ asset, decimals: 18 }).expect(400))).toMatch(/not 18: .* own is 6/)
    await register({ asset }).expect(200)
    await alterFaultyToken(rpcUrl, asset, { decimals: 18 })
    expect(messageOf(await register({ asset }).expect(400))).toMatch(/not 6: .* own is 18/)
    expect((await register({ asset, decimals: 18, active: true }).expect(200)).body).toMatchObject({
      data: { decimals: 18, active: true },
    })
  })
})

describe('payments', () => {
  test('are accepted again once their asset is active again', async () => {
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

  test('are refused in an unregistered or inactive asset', async () => {
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

const stateOf = async (asset: string) =>
  facilitator.database.prisma.asset.findFirst({ where: { asset }, select: { active: true, decimals: true } })

describe('a registered asset', () => {
  const registered = async () => {
    const asset = await deployFaultyToken(rpcUrl)
    await register({ asset }).expect(200)
    return asset
  }

  test('is retired once its token fails validation; the response says so, and how to restore it', async () => {
    const asset = await registered()
    await alterFaultyToken(rpcUrl, asset, { fault: 'TakesFee' })
    const message = /takes a fee.*is taken out of use; register it with active true/
    expect(messageOf(await register({ asset, active: true }).expect(400))).toMatch(message)
    expect(await stateOf(asset)).toEqual({ active: false, decimals: 6 })
    const client = await newClient(api)
    const body = await paymentRequest(await newPayer(rpcUrl), { requirements: { asset } })
    expect((await api.post('/api/v1/verify').set(client).send(body).expect(200)).body).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_payment_requirements',
    })

    await alterFaultyToken(rpcUrl, asset, { fault: 'None' })
    expect((await register({ asset }).expect(200)).body).toMatchObject({ data: { active: false } })
    await register({ asset, active: true }).expect(200)
    expect(await stateOf(asset)).toEqual({ active: true, decimals: 6 })
  })

  test('stays active while its token rejects all payments, for example while paused', async () => {
    const asset = await registered()
    await alterFaultyToken(rpcUrl, asset, { fault: 'Reverts' })
    expect(messageOf(await register({ asset }).expect(400))).toMatch(/closed for today.*stays as it is$/)
    expect(await stateOf(asset)).toEqual({ active: true, decimals: 6 })
  })

  test("stays active if a request has wrong decimals, and is retired if the contract's decimals changed", async () => {
    const asset = await registered()
    expect(messageOf(await register({ asset, decimals: 18 }).expect(400))).toMatch(
      /own is 6; send that. The asset is registered, and stays as it is$/,
    )
    expect(await stateOf(asset)).toEqual({ active: true, decimals: 6 })
    await alterFaultyToken(rpcUrl, asset, { decimals: 8 })
    expect(messageOf(await register({ asset, decimals: 18 }).expect(400))).toMatch(/own is 8.*out of use/)
    expect(await stateOf(asset)).toEqual({ active: false, decimals: 6 })
  })

  test('stays active if no node can validate it, or a node fails: the response is 503', async () => {
    let code = -32601
    const node = await startFailingNode(rpcUrl, 'eth_simulateV1', () => ({ code, message: 'not now' }))
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const { databaseUrl } = facilitator
    const blind = await testFacilitator({ rpcUrl: node, signerKeys, databaseUrl, variables: { ADMIN_TOKEN } })
    const asset = await registered()
    expect(messageOf(await register({ asset }, blind.api).expect(400))).toMatch(
      /cannot be tried out: .*stays as it is$/,
    )
    code = -32000
    const answer = await register({ asset }, blind.api)
    expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(await stateOf(asset)).toEqual({ active: true, decimals: 6 })
  })
})

test('a token whose name Postgres cannot store is refused with a message', async () => {
  const asset = await deployUncleanToken()
  const answer = await register({ asset })
  expect(outcomeOf(answer)).toEqual(INVALID)
  expect(messageOf(answer)).toMatch(/control characters/)
})

describe('an asset is retired', () => {
  test('whatever the state of its token', async () => {
    const asset = await deployFaultyToken(rpcUrl)
    await register({ asset }).expect(200)
    await alterFaultyToken(rpcUrl, asset, { fault: 'Endless', decimals: 3 })
    await register({ asset }).expect(400)
    const retired = await register({ asset: asset.toLowerCase(), active: false }).expect(200)
    expect(retired.body).toMatchObject({ data: { asset, decimals: 6, active: false } })
    expect(await listed()).not.toContainEqual(expect.objectContaining({ asset }))
    await register({ asset, active: true }).expect(400)
  })

  test('while its chain is unavailable; requests that need the chain are 503 with Retry-After', async () => {
    const chain = await ownChain()
    const away = await testFacilitator({ rpcUrl: chain.rpcUrl, variables: { ADMIN_TOKEN } })
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
  test('that fail validation are logged and not registered; the others are registered', async () => {
    const log = readableLog()
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
    const started = await testFacilitator({ networks, log: log.stream })

    expect(await listed(started.api)).toMatchObject([
      { network: 'base-sepolia', asset: USDC_ADDRESS },
      { network: 'other', asset: sound, decimals: 2 },
    ])
    await log.line('configured asset failed validation, not registered')
    const lines = log.lines().filter(({ message }) => message.startsWith('configured asset'))
    expect(lines).toMatchObject(
      [
        { level: 'error', network: 'other', asset: hostile, problem: /does not revert/ },
        { level: 'error', network: 'other', problem: /no contract/ },
        { level: 'error', network: 'other', asset: USDC_ADDRESS, problem: /own is 6/ },
      ].map((line) => ({ ...line, problem: expect.stringMatching(line.problem) as string })),
    )
  })

  const entry = { symbol: 'FLT', decimals: 6 }
  const fresh = async () => (await newSigner(rpcUrl)).privateKey

  test('whose token has become invalid are retired at the next start, and the log says so', async () => {
    const [bad, odd] = [await deployFaultyToken(rpcUrl), await deployFaultyToken(rpcUrl)]
    const networksWith = (decimals: number) => [
      {
        name: 'other',
        assets: [
          { asset: bad, ...entry },
          { asset: odd, ...entry, decimals },
        ],
      },
    ]
    const first = await testFacilitator({ rpcUrl, signerKeys: [await fresh()], networks: networksWith(6) })
    const inUse = async (of: TestFacilitator) =>
      (await listed(of.api)).filter(({ network }) => network === 'other').map(({ asset }) => asset)
    expect(await inUse(first)).toEqual([bad, odd])

    await alterFaultyToken(rpcUrl, bad, { fault: 'TakesFee' })
    const log = readableLog()
    const second = await testFacilitator({
      rpcUrl,
      signerKeys: [await fresh()],
      networks: networksWith(18),
      databaseUrl: first.databaseUrl,
      log: log.stream,
    })
    expect(await inUse(second)).toEqual([odd])
    await log.line('configured asset refused, registration kept')
    const lines = log.lines().filter(({ level }) => level === 'error')
    expect(lines).toMatchObject([
      {
        message: 'registered asset failed validation, retired',
        network: 'other',
        asset: bad,
        problem: expect.stringMatching(/takes a fee/) as string,
      },
      { asset: odd, problem: expect.stringMatching(/own is 6/) as string },
    ])
  })

  test('are retried after a node failure', async () => {
    let failures = 0
    const log = readableLog()
    const node = await startFailingNode(rpcUrl, 'eth_simulateV1', () =>
      failures++ === 0 ? { code: -32000, message: 'execution aborted (timeout = 5s)' } : undefined,
    )
    const started = await testFacilitator({ rpcUrl: node, signerKeys: [await fresh()], log: log.stream })
    await log.line('asset registration failed, retrying')
    await eventually(async () => (await listed(started.api)).some(({ asset }) => asset === USDC_ADDRESS))
    expect(failures).toBe(2)
  })

  test('do not wait for one whose node always fails', async () => {
    const [failing, sound] = [await deployFaultyToken(rpcUrl), await deployFaultyToken(rpcUrl)]
    const node = await startFailingNode(rpcUrl, 'eth_simulateV1', (question) =>
      question.includes(failing) ? { code: -32000, message: 'execution aborted (timeout = 5s)' } : undefined,
    )
    const networks = [{ name: 'other', assets: [failing, sound].map((asset) => ({ asset, ...entry })) }]
    const { api } = await testFacilitator({ rpcUrl: node, signerKeys: [await fresh()], networks })
    await eventually(async () => (await listed(api)).some(({ asset }) => asset === sound))
    expect((await listed(api)).map(({ asset }) => asset)).not.toContain(failing)
  })

  test('do not wait for an invalid or failing one, which is retried', async () => {
    const [nulName, failing] = [await deployUncleanToken(), await deployFaultyToken(rpcUrl)]
    const sound = await deployFaultyToken(rpcUrl)
    const assets = [nulName, failing, sound].map((asset) => ({ asset, ...entry }))
    const first = await testFacilitator({ rpcUrl, signerKeys: [await fresh()] })
    const { prisma } = first.database
    await prisma.$executeRawUnsafe(`ALTER TABLE assets ADD CONSTRAINT barred check (asset <> '${failing}')`)
    const started = await testFacilitator({
      rpcUrl,
      signerKeys: [await fresh()],
      networks: [{ name: 'other', assets }],
      databaseUrl: first.databaseUrl,
    })
    const found = async () =>
      (await listed(started.api)).filter(({ network }) => network === 'other').map(({ asset }) => asset)
    expect(await found()).toEqual([sound])
    await prisma.$executeRawUnsafe('ALTER TABLE assets DROP CONSTRAINT barred')
    await eventually(async () => (await found()).includes(failing))
    expect(await found()).toEqual([sound, failing])
  })

  test('of two replicas that start at once are registered once, and stay retired if they are retired', async () => {
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
