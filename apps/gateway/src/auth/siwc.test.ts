import { toBase64 } from '@cosmjs/encoding'
import { type SessionTokens } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { decode } from 'jsonwebtoken'
import { cosmosPlanOf } from '../testing/catalog'
import { adr036, type CosmosWallet } from '../testing/cosmos-wallet'
import { eip4361Text } from '../testing/eip4361'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createCall, signInText } from '../testing/wallet'

const osmosis = cosmosPlanOf({ id: 2, plan_name: 'Osmosis' })
const injective = cosmosPlanOf({
  id: 3,
  plan_name: 'Injective',
  network: 'injective',
  chain_id: 'injective-1',
  asset_address: 'inj',
  pay_to: 'inj1zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3t5qxqh',
})

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(osmosis, injective)
  await gateway.reapply()
})
afterAll(closeAll)

const post = (body: object) => gateway.api.post('/auth/login').send(body)
const login = async (body: object) => outcomeOf(await post(body))
const claimsOf = async (body: object) =>
  decode(((await post(body).expect(200)).body as SessionTokens).token, { json: true })
const walletOf = (options = {}) => gateway.cosmosWallet({ plan: osmosis, ...options })
const isoIn = (seconds: number) => new Date(gateway.clock.now().getTime() + seconds * 1000).toISOString()

const signedIn = [200, undefined]
const unreadable = [400, 'INVALID_REQUEST']
const notSigned = [401, 'INVALID_SIGNATURE']
const noNonce = [401, 'EXPIRED_NONCE']

const longText = async (wallet: CosmosWallet, changes: Partial<Parameters<typeof eip4361Text>[0]> = {}) =>
  eip4361Text({
    address: wallet.address,
    nonce: await wallet.nonce(),
    issuedAt: isoIn(0),
    account: 'Cosmos',
    chainId: 'osmosis-1',
    ...changes,
  })

describe('a Cosmos wallet', () => {
  test('signs in, and its token contains wallet, method, chain, ecosystem and plan', async () => {
    const wallet = walletOf()
    expect(await claimsOf(await wallet.login())).toMatchObject({
      wallet: wallet.address,
      auth_method: 'siwc',
      chain_id: 'osmosis-1',
      ecosystem: 'cosmos',
      pricing_plan_id: 2,
    })
  })

  test('signs in with either key type, under any prefix', async () => {
    for (const kind of ['secp256k1', 'ethsecp256k1'])
      for (const prefix of ['osmo', 'cosmos', 'inj', 'noble', 'c4e']) {
        const wallet = walletOf({ kind, prefix })
        expect(await claimsOf(await wallet.login())).toMatchObject({ wallet: wallet.address })
      }
  })

  test('signs in by the name of its chain', async () => {
    for (const [chain, plan] of [
      ['cosmos', 2],
      ['osmosis-1', 2],
      ['OSMOSIS-1', 2],
      ['injective', 3],
      ['injective-1', 3],
    ]) {
      const wallet = walletOf()
      const { message, address, signature, pubkey } = await wallet.login()
      const body = { message, address, signature, pubkey, chain }
      expect(await claimsOf(body)).toMatchObject({ auth_method: 'siwc', pricing_plan_id: plan })
    }
  })

  test.each([
    ['with the field order of EIP-4361', {}],
    ['with the field order of CAIP-122', { isChainLast: true }],
    ['with the chain by CAIP-2', { chainId: 'cosmos:osmosis-1' }],
    ['with a statement', { statement: 'I accept the terms.' }],
    [
      'with an expiry and a start time',
      { expirationTime: '2999-01-01T00:00:00Z', notBefore: '2020-01-01T00:00:00Z' },
    ],
  ])('signs in with the long form, %s', async (_, changes) => {
    const wallet = walletOf()
    expect(await login(await wallet.signed(await longText(wallet, changes)))).toEqual(signedIn)
  })

  test('is one wallet in lower and upper case, everywhere', async () => {
    const wallet = walletOf()
    const address = wallet.address.toUpperCase()
    expect(await claimsOf(await wallet.login({ address }, { address }))).toMatchObject({
      wallet: wallet.address,
    })
    await gateway.fund(wallet.address, 5, 2)
    const bodyAt = async (path: string) => (await gateway.api.get(path).expect(200)).body as unknown
    expect(await bodyAt(`/credits/${address}`)).toEqual([{ pricing_plan_id: 2, remaining_credits: 5 }])
    for (const path of ['/credits/', '/history/', '/payments/'])
      expect(await bodyAt(path + address)).toEqual(await bodyAt(path + wallet.address))
    await gateway.api.get('/auth/nonce').query({ address }).expect(200)
  })

  test('has a full session: it spends, is refreshed once, and ends', async () => {
    const wallet = walletOf()
    const session = await wallet.signIn()
    await session.call().expect(402)
    await gateway.fund(wallet.address, 1, 2)
    await session.call().expect(200)

    const refresh = { refresh_token: session.refresh_token }
    const renewed = await gateway.api.post('/auth/refresh').send(refresh).expect(200)
    const { token } = renewed.body as SessionTokens
    expect(decode(token)).toMatchObject({ wallet: wallet.address, auth_method: 'siwc' })
    await gateway.api.post('/auth/logout').set('Authorization', `Bearer ${token}`).expect(200)
    for (const each of [token, session.token])
      expect(outcomeOf(await createCall(gateway.api, each)())).toEqual([403, 'REVOKED_TOKEN'])
  })

  test('may select a plan of another ecosystem, whatever the chain in its text', async () => {
    const wallet = walletOf()
    const elsewhere = { x402_chain_id: '84532', x402_ecosystem: 'evm', pricing_plan_id: 1 }
    const text = await longText(wallet, { chainId: 'cosmoshub-4' })
    expect(await claimsOf(await wallet.signed(text, elsewhere))).toMatchObject({
      wallet: wallet.address,
      auth_method: 'siwc',
      pricing_plan_id: 1,
    })
  })
})

describe('a nonce', () => {
  test('of another wallet is refused and not consumed', async () => {
    const owner = walletOf()
    const nonce = await owner.nonce()
    expect(await login(await walletOf().login({}, { nonce }))).toEqual(noNonce)
    expect(await login(await gateway.wallet().login({}, { nonce }))).toEqual(noNonce)
    expect(await login(await owner.login({}, { nonce }))).toEqual(signedIn)
  })

  test('of the same bytes under another prefix is refused as another wallet’s', async () => {
    const wallet = walletOf()
    const address = wallet.addressOn('cosmos')
    const nonce = await wallet.nonce()
    const message = signInText({ address, nonce, issuedAt: isoIn(0) })
    const signature = toBase64(wallet.sign(adr036(address, message)))
    expect(await login(await wallet.signed(message, { address, signature }))).toEqual(noNonce)
    expect(await login(await wallet.login({}, { nonce }))).toEqual(signedIn)
  })

  test('is accepted once, also by fifty logins at once', async () => {
    const body = await walletOf().login()
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => login(body)))
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1)
    expect(outcomes.filter(([, code]) => code === 'EXPIRED_NONCE')).toHaveLength(49)
    expect(await login(body)).toEqual(noNonce)
  })

  test('that was never issued is refused', async () => {
    expect(await login(await walletOf().login({}, { nonce: 'a'.repeat(32) }))).toEqual(noNonce)
  })

  test('is refused after 300 seconds, whatever the time in the text', async () => {
    const late = await testGateway({ inProcess: true })
    late.catalog.plans.push(osmosis)
    await late.reapply()
    const wallet = late.cosmosWallet({ plan: osmosis })
    const [young, old] = [await wallet.nonce(), await wallet.nonce()]
    const outcome = async (nonce: string) =>
      outcomeOf(await late.api.post('/auth/login').send(await wallet.login({}, { nonce })))
    late.clock.advance(299)
    expect(await outcome(young)).toEqual(signedIn)
    late.clock.advance(2)
    expect(await outcome(old)).toEqual(noNonce)
  })

  test('is not consumed by a login with an invalid signature', async () => {
    const wallet = walletOf()
    const body = await wallet.login()
    const signature = toBase64(walletOf().sign(adr036(wallet.address, body.message)))
    expect(await login({ ...body, signature })).toEqual(notSigned)
    expect(await login(body)).toEqual(signedIn)
  })
})

describe('a text that its wallet signed is refused', () => {
  const other = 'osmo1qurswpc8qurswpc8qurswpc8qurswpc8mg52kn'
  const edits: [string, (text: string) => string, readonly unknown[]][] = [
    ['with text after its end', (text) => `${text}\nTransfer all I have`, unreadable],
    ['with a line break after its end', (text) => `${text}\n`, unreadable],
    ['with a space after its end', (text) => `${text} `, unreadable],
    ['with two Address lines', (text) => text.replace('\nNonce', `\nAddress: ${other}\nNonce`), unreadable],
    ['with the Address twice', (text) => text.replace(/\nAddress.*/, (line) => line + line), unreadable],
    ['with the Nonce twice', (text) => text.replace(/\nNonce.*/, (line) => line + line), unreadable],
    ['with carriage returns', (text) => text.replaceAll('\n', '\r\n'), unreadable],
    ['for another service', (text) => text.replace('Tollgate', 'Evilgate'), unreadable],
    ['for a service whose name looks like ours', (text) => text.replace('To', 'T\u043e'), unreadable],
    ['issued in the future', (text) => text.replace(/At: .*/, `At: ${isoIn(61)}`), unreadable],
    ["older than a nonce's validity", (text) => text.replace(/At: .*/, `At: ${isoIn(-301)}`), noNonce],
    ['for another address', (text) => text.replace(/osmo1.*/, other), notSigned],
  ]
  test.each(edits)('%s', async (_, edit, refusal) => {
    const wallet = walletOf()
    const text = signInText({ address: wallet.address, nonce: await wallet.nonce(), issuedAt: isoIn(0) })
    expect(edit(text)).not.toBe(text)
    expect(await login(await wallet.signed(edit(text)))).toEqual(refusal)
    expect(await login(await wallet.signed(text))).toEqual(signedIn)
  })

  const longEdits: typeof edits = [
    ['with text after its end', (text) => `${text}\nmore`, unreadable],
    ['with two addresses', (text) => text.replace(/\nosmo1.*/, (line) => line + line), unreadable],
    ['with two chains', (text) => text.replace('\nNonce', '\nChain ID: osmosis-1\nNonce'), unreadable],
    ['with a chain at either place', (text) => `${text}\nChain ID: osmosis-1`, unreadable],
    ['without a chain', (text) => text.replace(/\nChain ID.*/, ''), unreadable],
    ['for another domain', (text) => text.replace('gateway.example wants', 'evil.example wants'), unreadable],
    ['that is not ASCII', (text) => text.replace('Sign in', 'Sign \u0456n'), unreadable],
    ['that names an Ethereum account', (text) => text.replace('Cosmos', 'Ethereum'), unreadable],
    ['that names another ecosystem', (text) => text.replace('Cosmos', 'Solana'), unreadable],
    ['for a chain that is not the plan’s', (text) => text.replace('osmosis-1', 'cosmoshub-4'), unreadable],
    ['for a chain named alike', (text) => text.replace('osmosis-1', 'Osmosis-1'), unreadable],
    ['for such a chain by CAIP-2', (text) => text.replace('osmosis-1', 'cosmos:injective-1'), unreadable],
    ['for a chain of Ethereum', (text) => text.replace('osmosis-1', '1'), unreadable],
    ['for a chain of another namespace', (text) => text.replace('osmosis-1', 'eip155:1'), unreadable],
    ['that has expired', (text) => `${text}\nExpiration Time: ${isoIn(-1)}`, noNonce],
    ['that is not valid yet', (text) => `${text}\nNot Before: ${isoIn(90)}`, unreadable],
  ]
  test.each(longEdits)('in the long form, %s', async (_, edit, refusal) => {
    const wallet = walletOf()
    const text = await longText(wallet, { statement: 'Sign in' })
    expect(edit(text)).not.toBe(text)
    expect(await login(await wallet.signed(edit(text)))).toEqual(refusal)
    expect(await login(await wallet.signed(text))).toEqual(signedIn)
  })

  test('in the long form, that names a Cosmos account for an Ethereum wallet', async () => {
    const wallet = gateway.wallet()
    const parts = { address: wallet.address, nonce: await wallet.nonce(), issuedAt: isoIn(0) }
    expect(await login(await wallet.signed(eip4361Text({ ...parts, account: 'Cosmos' })))).toEqual(unreadable)
    expect(await login(await wallet.signed(eip4361Text(parts)))).toEqual(signedIn)
  })
})

describe('a login that differs from its text is refused:', () => {
  test('another address', async () => {
    expect(await login(await walletOf().login({ address: walletOf().address }))).toEqual(notSigned)
  })

  test('the same bytes under another prefix', async () => {
    const wallet = walletOf()
    expect(await login(await wallet.login({ address: wallet.addressOn('cosmos') }))).toEqual(notSigned)
  })

  test.each([
    ['the method of Ethereum', { auth_method: 'siwe' }, unreadable],
    ['no method', { auth_method: undefined }, unreadable],
    ['no public key', { pubkey: undefined }, unreadable],
    ['a method that there is not', { auth_method: 'siws' }, unreadable],
    ['an Ethereum address', { address: `0x${'1'.repeat(40)}` }, unreadable],
    ['an address of both cases', { address: 'Osmo1qurswpc8qurswpc8qurswpc8qurswpc8mg52kn' }, unreadable],
    ['the chain of another plan', { x402_chain_id: 'injective-1' }, unreadable],
    ['another ecosystem', { x402_ecosystem: 'evm' }, unreadable],
    ['a plan that there is not', { pricing_plan_id: 999 }, [404, 'NOT_FOUND']],
  ])('%s', async (_, changes, refusal) => {
    expect(await login(await walletOf().login(changes))).toEqual(refusal)
  })
})
