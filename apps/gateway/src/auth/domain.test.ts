import { type NonceAnswer } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { eip4361Text } from '../testing/eip4361'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { domainsOf, problemOfDomain } from './domain'

const GATEWAY = 'https://gateway.example:8443'
const own = 'gateway.example:8443'
const refused = [400, 'INVALID_REQUEST']

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ environment: { PUBLIC_URL: GATEWAY, SIGN_IN_DOMAINS: ['Tollgate'] } })
})
afterAll(closeAll)

type Text = Partial<Parameters<typeof eip4361Text>[0]>

async function signIn(text: Text, from: TestGateway = gateway, wallet: Wallet = from.wallet()) {
  const { address } = wallet
  const nonce = await wallet.nonce()
  const issuedAt = from.clock.now().toISOString()
  const parts = { domain: own, uri: `${GATEWAY}/login`, address, nonce, issuedAt, ...text }
  return from.api.post('/auth/login').send(await wallet.signed(eip4361Text(parts)))
}
type Wallet = Pick<ReturnType<TestGateway['wallet']>, 'address' | 'nonce' | 'signed'>

describe('a text for the host of the gateway, which is not listed,', () => {
  test('signs in as EIP-4361 and as CAIP-122', async () => {
    expect(outcomeOf(await signIn({}))).toEqual([200, undefined])
    const cosmos = gateway.cosmosWallet({ plan: { id: 1, chain_id: '84532' } })
    const signed: Wallet = {
      ...cosmos,
      signed: async (message) => {
        const { signature, pubkey, address } = (await cosmos.signed(message)) as Record<string, unknown>
        return { message, signature, pubkey, address, auth_method: 'siwc', chain: 'evm' } as never
      },
    }
    for (const isChainLast of [false, true]) {
      const text = { account: 'Cosmos', chainId: 'cosmos:osmosis-1', isChainLast }
      expect(outcomeOf(await signIn(text, gateway, signed))).toEqual([200, undefined])
    }
  })

  test.each<[string, Text]>([
    ['its URI is of another host', { uri: 'https://evil.example/login' }],
    ['its URI is of another port', { uri: 'https://gateway.example/login' }],
    ['it names another port', { domain: 'gateway.example', uri: 'https://gateway.example/login' }],
    ['it names a subdomain', { domain: `x.${own}`, uri: `https://x.${own}` }],
    ['it names a domain that ours is a part of', { domain: 'gateway.example.evil:8443' }],
    ['it names a listed name in other letters', { domain: 'tollgate' }],
  ])('is refused if %s', async (_, text) => {
    expect(outcomeOf(await signIn(text))).toEqual(refused)
  })

  test('is refused in its short form, which wallets do not compare with the page', async () => {
    const login = await gateway.wallet().login({}, { domain: own })
    const answer = await gateway.api.post('/auth/login').send(login)
    expect(outcomeOf(answer)).toEqual(refused)
    expect((answer.body as { message: string }).message).toMatch(/sign one for Tollgate$/)
  })

  test('signs in nowhere else: another gateway cannot use it, nor have it signed for its own nonce', async () => {
    const other = await testGateway({
      beside: gateway,
      environment: { PUBLIC_URL: 'https://other.example', SIGN_IN_DOMAINS: ['Tollgate'] },
    })
    expect(outcomeOf(await signIn({}, other))).toEqual(refused)
    const text = { domain: 'other.example', uri: 'https://other.example' }
    expect(outcomeOf(await signIn(text))).toEqual(refused)
    expect(outcomeOf(await signIn(text, other))).toEqual([200, undefined])
  })
})

test('GET /auth/nonce names what a text may be addressed to, and each of them signs in', async () => {
  const { domains } = (await gateway.api.get('/auth/nonce').expect(200)).body as NonceAnswer
  expect(domains).toEqual(['Tollgate', own])
  for (const domain of domains) expect(outcomeOf(await signIn({ domain }))).toEqual([200, undefined])
  expect((await gateway.api.get('/llms.txt')).text).toContain('the host of this service as its domain')
})

test.each([
  [['Tollgate'], GATEWAY, ['Tollgate', own]],
  [['Tollgate', 'gateway.example'], 'https://gateway.example/base', ['Tollgate', 'gateway.example']],
  [['gateway.example', 'Tollgate'], 'https://gateway.example:443', ['gateway.example', 'Tollgate']],
  [['*'], 'http://127.0.0.1:8080', ['*', '127.0.0.1:8080']],
])('with %j listed at %s, a text may name %j', (listed, publicUrl, domains) => {
  expect(domainsOf(listed, publicUrl)).toEqual(domains)
})

test.each<[string, string | undefined, string | undefined]>([
  ['Tollgate', undefined, undefined],
  ['Tollgate', 'https://anything.example', undefined],
  [own, `${GATEWAY}/x`, undefined],
  ['GATEWAY.example:8443', GATEWAY, undefined],
  [own, 'https://evil.example', 'URI must be of the same host as the domain'],
  [own, undefined, 'is for another service; sign one for Tollgate'],
  ['evil.example', GATEWAY, `is for another service; sign one for Tollgate or ${own}`],
])('a text for %s with the URI %s: %s', (domain, uri, problem) => {
  const text = uri === undefined ? { domain } : { domain, uri }
  expect(problemOfDomain(text, { listed: ['Tollgate'], publicUrl: GATEWAY })).toBe(problem)
})

test.each([
  [GATEWAY, undefined],
  [`${GATEWAY}/base`, undefined],
  ['https://evil.example', `states another gateway than ${GATEWAY}`],
  [`${GATEWAY}.evil.example`, `states another gateway than ${GATEWAY}`],
])('a text that states %s, from a page that is listed: %s', (stated, problem) => {
  const text = { domain: 'app.example', uri: 'https://app.example', statedGateway: stated }
  expect(problemOfDomain(text, { listed: ['app.example'], publicUrl: GATEWAY })).toBe(problem)
})
