import { deploySmartWallet } from '@tollgate/devnet'
import { encodeJson } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { type PaymentRequired } from '@x402/core/types'
import {
  createSIWxClientHook,
  createSIWxMessage,
  parseSIWxHeader,
  validateSIWxMessage,
  verifySIWxSignature,
  wrapFetchWithSIWx,
  type CompleteSIWxInfo,
  type SIWxPayload,
} from '@x402/extensions/sign-in-with-x'
import { getAddress, Wallet, Signature, type BaseWallet } from 'ethers'
import { createContractWallets } from '../auth/contract-wallets'
import { createNonces } from '../auth/nonces'
import { cosmosPlanOf, planOf, openCatalog } from '../testing/catalog'
import { createClock } from '../testing/clock'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { startUpstream } from '../testing/upstream'
import { createSignInWithX, SIGN_IN_HEADER } from './sign-in-with-x'

const CLIENT = '192.0.2.1'
const rpcUrl = process.env.TEST_EVM_RPC_URL!

/** Of the signers only: the public package judges times by the clock of the process. */
const clock = createClock()
let gateway: TestGateway
let owner: string
beforeAll(async () => {
  gateway = await testGateway()
  const { catalog } = gateway
  catalog.providers[0]!.rpc = [rpcUrl]
  catalog.plans.push(
    planOf({ id: 2, network: 'base', chain_id: '8453' }),
    cosmosPlanOf({ id: 3 }),
    planOf({ id: 4, asset_address: `0x${'1'.repeat(40)}` }),
  )
  await gateway.reapply()
  owner = Wallet.createRandom().privateKey
})
afterAll(closeAll)

const catalogOf = () => openCatalog(gateway.database, gateway.clock.now)

const partsAt = (publicUrl: string) => ({
  nonces: createNonces(gateway.store),
  verifyContractSignature: createContractWallets({
    catalog: catalogOf(),
    store: gateway.store,
    logger: gateway.log.logger,
  }),
  publicUrl,
  now: clock.now,
})

/** A resource that asks for payment, and is free to those who sign in. */
async function startResource(publicPath = '') {
  const server = await startUpstream(async (res, { headers, url }) => {
    const plans = await catalogOf().getActivePlans()
    const header = headers[SIGN_IN_HEADER.toLowerCase()]
    try {
      if (typeof header === 'string') {
        res.writeHead(200).end(JSON.stringify(await signIn.verify(header, plans, CLIENT)))
        return
      }
      const resource = `${server.url}${url ?? ''}`
      const required = { ...requiredOf(resource), extensions: await signIn.declare(resource, plans) }
      res.writeHead(402, { 'PAYMENT-REQUIRED': encodeJson(required) }).end()
    } catch (error) {
      const { status, code } = error as ApiError
      res.writeHead(status).end(JSON.stringify({ code }))
    }
  })
  const publicUrl = server.url + publicPath
  const signIn = createSignInWithX(partsAt(publicUrl))
  return { ...server, publicUrl, signIn, resource: `${publicUrl}/v1/base-sepolia` }
}
type Resource = Awaited<ReturnType<typeof startResource>>

const requiredOf = (url: string): PaymentRequired => ({
  x402Version: 2,
  resource: { url },
  accepts: [
    {
      scheme: 'exact',
      network: 'eip155:84532',
      amount: '10000',
      asset: planOf().asset_address,
      payTo: planOf().pay_to,
      maxTimeoutSeconds: 60,
      extra: {},
    },
  ],
})

const signerOf = (wallet: BaseWallet, address = wallet.address) => ({
  address,
  signMessage: ({ message }: { message: string }) => wallet.signMessage(message),
})

async function challenge({ resource }: Resource) {
  const answer = await fetch(resource)
  const required = JSON.parse(
    Buffer.from(answer.headers.get('PAYMENT-REQUIRED')!, 'base64').toString(),
  ) as PaymentRequired
  const { info, supportedChains } = required.extensions!['sign-in-with-x'] as {
    info: Omit<CompleteSIWxInfo, 'chainId' | 'type'>
    supportedChains: Pick<CompleteSIWxInfo, 'chainId' | 'type'>[]
  }
  return { required, supportedChains, info: { ...info, ...supportedChains[0]! } as CompleteSIWxInfo }
}

/** The header for a challenge, changed before the wallet signs the public package's text of it, and after. */
async function headerFor(
  at: Resource,
  { wallet = new Wallet(owner), address = wallet.address, before = {}, after = {} }: Changes = {},
) {
  const info = { ...(await challenge(at)).info, ...before }
  const signature = await wallet.signMessage(createSIWxMessage(info, address))
  return encodeJson({ ...info, address, signature, ...after })
}
type Changes = {
  wallet?: BaseWallet
  address?: string
  before?: Partial<CompleteSIWxInfo>
  after?: Partial<Record<keyof SIWxPayload, unknown>>
}

async function outcome({ signIn }: Resource, header: string) {
  const plans = await catalogOf().getActivePlans()
  return signIn.verify(header, plans, CLIENT).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    return [error.status, error.code]
  })
}

const invalid = [401, 'INVALID_SIGNATURE']
const expired = [401, 'EXPIRED_NONCE']

test('an unmodified wrapFetchWithSIWx signs in, each time with a new nonce', async () => {
  const { resource } = await startResource()
  const wallet = Wallet.createRandom()
  const fetchWithSignIn = wrapFetchWithSIWx(fetch, signerOf(wallet))
  for (let i = 0; i < 2; i++) {
    const answer = await fetchWithSignIn(resource, { method: 'POST', body: '{}' })
    expect(await answer.json()).toEqual({ wallet: wallet.address, chainId: '84532', signedBy: 'key' })
  }
})

test('the public client hook signs in, and the public server accepts what it sends', async () => {
  const at = await startResource()
  const { required } = await challenge(at)
  const hook = createSIWxClientHook(signerOf(new Wallet(owner)))
  const result = await hook({ paymentRequired: required, requestUrl: at.resource })
  const header = result!.headers['sign-in-with-x']!

  const proof = parseSIWxHeader(header)
  expect(await validateSIWxMessage(proof, new URL(at.publicUrl))).toEqual({ isValid: true })
  expect(await verifySIWxSignature(proof)).toMatchObject({ isValid: true })
  expect(await outcome(at, header)).toMatchObject({ wallet: new Wallet(owner).address })
})

test('EVM chains with a plan are offered once each, Cosmos chains are not', async () => {
  const at = await startResource()
  const { supportedChains, info } = await challenge(at)
  expect(supportedChains).toEqual([
    { chainId: 'eip155:84532', type: 'eip191' },
    { chainId: 'eip155:8453', type: 'eip191' },
  ])
  expect(info).toMatchObject({ domain: new URL(at.publicUrl).host, uri: at.resource, version: '1' })
  expect(Date.parse(info.expirationTime!) - Date.parse(info.issuedAt)).toBe(300_000)
  const cosmos = (await catalogOf().getActivePlans()).filter(({ ecosystem }) => ecosystem === 'cosmos')
  expect(await at.signIn.declare(at.resource, cosmos)).toEqual({})
})

test('the optional members of EIP-4361 are part of the text', async () => {
  const at = await startResource()
  const before = {
    notBefore: new Date(clock.now().getTime() - 1000).toISOString(),
    requestId: 'request-1',
    resources: [at.resource, `${at.publicUrl}/v1/base`],
  }
  expect(await outcome(at, await headerFor(at, { before }))).toMatchObject({ signedBy: 'key' })
  const header = await headerFor(at, { before, after: { requestId: 'request-2' } })
  expect(await outcome(at, header)).toEqual(invalid)
})

test('a proof signs in once, however many requests send it at once', async () => {
  const at = await startResource()
  const header = await headerFor(at)
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome(at, header)))
  expect(outcomes.filter((one) => !Array.isArray(one))).toHaveLength(1)
  expect(outcomes.filter((one) => Array.isArray(one))).toEqual(Array.from({ length: 19 }, () => expired))
})

test('a proof is no login at POST /auth/login', async () => {
  const signIn = createSignInWithX({ ...partsAt('https://gateway.example'), now: gateway.clock.now })
  const plans = await catalogOf().getActivePlans()
  const declared = await signIn.declare('https://gateway.example/v1/base-sepolia', plans)
  const { info } = declared['sign-in-with-x'] as { info: CompleteSIWxInfo }
  const wallet = new Wallet(owner)
  const proof = { ...info, chainId: 'eip155:84532', type: 'eip191' as const, address: wallet.address }
  const message = createSIWxMessage(proof, wallet.address)
  const signature = await wallet.signMessage(message)

  const plan = { x402_chain_id: '84532', x402_ecosystem: 'evm', pricing_plan_id: 1 }
  const login = { message, signature, address: wallet.address, auth_method: 'siwe', ...plan }
  expect(outcomeOf(await gateway.api.post('/auth/login').send(login))).toEqual(expired)
  expect(await signIn.verify(encodeJson({ ...proof, signature }), plans, CLIENT)).toMatchObject({
    signedBy: 'key',
  })
})

test('a nonce of GET /auth/nonce makes no proof, and stays valid for a login', async () => {
  const at = await startResource()
  const login = gateway.wallet()
  const answer = await gateway.api.get('/auth/nonce').expect(200)
  const { nonce } = answer.body as { nonce: string }
  expect(await outcome(at, await headerFor(at, { before: { nonce } }))).toEqual(expired)
  await gateway.api
    .post('/auth/login')
    .send(await login.login({}, { nonce }))
    .expect(200)
})

test('a signature may have 64 bytes, or no prefix', async () => {
  const at = await startResource()
  for (const write of [
    (signature: Signature) => signature.compactSerialized,
    (signature: Signature) => signature.serialized.slice(2),
  ]) {
    const proof = parseSIWxHeader(await headerFor(at))
    const signature = write(Signature.from(proof.signature))
    expect(await outcome(at, encodeJson({ ...proof, signature }))).toMatchObject({ signedBy: 'key' })
  }
})

describe('a contract wallet', () => {
  test('signs in by its owner’s signature, on the chain that has its code', async () => {
    const at = await startResource()
    const address = getAddress(await deploySmartWallet(rpcUrl, new Wallet(owner).address))
    const header = await headerFor(at, { address })
    expect(await outcome(at, header)).toEqual({ wallet: address, chainId: '84532', signedBy: 'contract' })
    expect(await outcome(at, header)).toEqual(expired)
    const other = await headerFor(at, { address, before: { chainId: 'eip155:8453' } })
    expect(await outcome(at, other)).toEqual(invalid)
  })

  test('is refused with a stranger’s signature, which does not consume the nonce', async () => {
    const at = await startResource()
    const address = getAddress(await deploySmartWallet(rpcUrl, new Wallet(owner).address))
    const header = await headerFor(at, { address })
    const forged = { ...parseSIWxHeader(header), signature: `0x${'11'.repeat(64)}1b` }
    expect(await outcome(at, encodeJson(forged))).toEqual(invalid)
    expect(await outcome(at, header)).toMatchObject({ signedBy: 'contract' })
  })
})

describe('refuses, although the wallet signed it,', () => {
  const seconds = (from: number) => new Date(clock.now().getTime() + from * 1000).toISOString()
  const cases: [string, () => Partial<CompleteSIWxInfo>, string[] | (string | number)[]][] = [
    ['a foreign domain', () => ({ domain: 'evil.example' }), invalid],
    ['a foreign URI', () => ({ uri: 'https://evil.example/v1' }), invalid],
    ['another statement', () => ({ statement: 'Give everything away' }), invalid],
    ['no statement', () => ({ statement: undefined as never }), invalid],
    ['a chain without a plan', () => ({ chainId: 'eip155:1' }), invalid],
    ['a nonce of another issuer', () => ({ nonce: 'ab'.repeat(16) }), expired],
    ['a nonce of another form', () => ({ nonce: 'a'.repeat(33) }), invalid],
    ['a time of issue in the future', () => ({ issuedAt: seconds(120) }), invalid],
    ['a time of issue long ago', () => ({ issuedAt: seconds(-301) }), expired],
    ['an expiration in the past', () => ({ expirationTime: seconds(-1) }), expired],
    ['no expiration', () => ({ expirationTime: undefined as never }), invalid],
    ['a start in the future', () => ({ notBefore: seconds(120) }), invalid],
    ['a resource of others', () => ({ resources: ['https://evil.example/'] }), invalid],
    ['a delegation', () => ({ resources: ['urn:recap:eyJhdHQiOnt9fQ'] }), invalid],
  ]
  test.each(cases)('%s', async (_name, before, refusal) => {
    const at = await startResource()
    expect(await outcome(at, await headerFor(at, { before: before() }))).toEqual(refusal)
  })

  test('a proof for the same host outside of the public URL', async () => {
    const at = await startResource('/gateway')
    expect(await outcome(at, await headerFor(at))).toMatchObject({ signedBy: 'key' })
    for (const uri of [new URL(at.publicUrl).origin, `${at.publicUrl}-of-others/v1`])
      expect(await outcome(at, await headerFor(at, { before: { uri } }))).toEqual(invalid)
  })

  test('a proof after the life of its nonce', async () => {
    const at = await startResource()
    const header = await headerFor(at)
    clock.advance(300)
    expect(await outcome(at, header)).toEqual(expired)
  })
})

describe('refuses what the wallet did not sign:', () => {
  const cases: [string, Changes['after'], (string | number)[]][] = [
    ['another address', { address: Wallet.createRandom().address }, invalid],
    ['another version', { version: '2' }, invalid],
    ['another chain', { chainId: 'eip155:8453' }, invalid],
    ['a chain that is not CAIP-2', { chainId: '84532' }, invalid],
    ['a Solana signature', { type: 'ed25519' }, invalid],
    ['an added line', { requestId: 'a\nResources:' }, invalid],
    ['a line in the time', { issuedAt: '2026-01-01T00:00:00Z\nNonce: 12345678' }, invalid],
    ['no signature', { signature: '' }, invalid],
    ['an empty signature, which only a contract may give', { signature: '0x' }, invalid],
    ['a signature that is not hex', { signature: '0xzz' }, invalid],
    ['a number as its nonce', { nonce: 1 }, invalid],
    ['no address', { address: undefined }, invalid],
  ]
  test.each(cases)('%s', async (_name, after, refusal) => {
    const at = await startResource()
    expect(await outcome(at, await headerFor(at, { after: after! }))).toEqual(refusal)
  })

  test('text that is no proof', async () => {
    const at = await startResource()
    const header = await headerFor(at)
    const long = encodeJson({ ...parseSIWxHeader(header), more: 'x'.repeat(8_192) })
    for (const text of ['', 'no base64', 'bm8gSlNPTg==', encodeJson([]), `${header}, ${header}`, long])
      expect(await outcome(at, text)).toEqual(invalid)
    expect(await outcome(at, header)).toMatchObject({ signedBy: 'key' })
  })
})
