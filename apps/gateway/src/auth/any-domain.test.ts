import { type NonceAnswer } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { eip4361Text } from '../testing/eip4361'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { isOfHost } from './any-domain'

const GATEWAY = 'https://gateway.example'
const APP = 'https://app.example'
const signedIn = [200, undefined]
const refused = [400, 'INVALID_REQUEST']

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ environment: { SIGN_IN_DOMAINS: ['*'] } })
})
afterAll(closeAll)

type Text = Partial<Parameters<typeof eip4361Text>[0]>
/** Of the page that asks for the nonce, and of the one that sends the login. */
type Origins = { nonce?: string; login?: string }

const ofApp: Text = { domain: 'app.example', uri: `${APP}/login`, resources: [GATEWAY] }

async function signIn(text: Text, origins: Origins = {}, textOf: typeof eip4361Text = eip4361Text) {
  const wallet = gateway.wallet()
  const asked = gateway.api.get('/auth/nonce').query({ address: wallet.address })
  if (origins.nonce !== undefined) void asked.set('Origin', origins.nonce)
  const { nonce } = (await asked.expect(200)).body as NonceAnswer
  const issuedAt = gateway.clock.now().toISOString()
  const message = textOf({ ...ofApp, address: wallet.address, nonce, issuedAt, ...text })
  const sent = gateway.api.post('/auth/login')
  if (origins.login !== undefined) void sent.set('Origin', origins.login)
  return outcomeOf(await sent.send(await wallet.signed(message)))
}

describe('a sign-in text of an app’s own domain', () => {
  test.each<[string, Text, Origins]>([
    ['a page of that domain', {}, { nonce: APP, login: APP }],
    ['a client that is no browser', {}, {}],
    ['a page that got the nonce from its own server', {}, { login: APP }],
    [
      'a page at another port',
      { domain: 'localhost:5173', uri: 'http://localhost:5173' },
      { login: 'http://localhost:5173' },
    ],
    ['a page whose text names the default port', { domain: 'app.example:443' }, { login: APP }],
    [
      'a page whose text names a path of the gateway',
      { resources: ['ipfs://terms', `${GATEWAY}/rpc`] },
      { login: APP },
    ],
    [
      'a page of the gateway itself',
      { domain: 'gateway.example', uri: GATEWAY, resources: [] },
      { login: GATEWAY },
    ],
    [
      'a client that names the gateway’s own host, without resources',
      { domain: 'gateway.example', uri: GATEWAY, resources: undefined as never },
      {},
    ],
  ])('signs in from %s', async (_, text, origins) => {
    expect(await signIn(text, origins)).toEqual(signedIn)
  })

  test.each<[string, Text, Origins]>([
    ['sent by a page of another domain', {}, { login: 'https://evil.example' }],
    ['sent by a page of a subdomain', {}, { login: 'https://evil.app.example' }],
    ['sent by a page at another port', {}, { login: `${APP}:8443` }],
    ['sent by a page without an origin of its own', {}, { login: 'null' }],
    [
      'of the gateway’s domain, sent by another page',
      { domain: 'gateway.example', uri: GATEWAY },
      { login: APP },
    ],
    ['whose URI is of another host', { uri: 'https://evil.example/login' }, {}],
    ['whose URI has a user', { uri: 'https://app.example@evil.example' }, {}],
    ['whose URI has no host', { uri: 'did:key:app.example' }, {}],
    ['that does not name the gateway', { resources: [] }, { login: APP }],
    ['without resources', { resources: undefined as never }, { login: APP }],
    ['that names another gateway', { resources: ['https://other.example'] }, { login: APP }],
    [
      'that names a host that begins like the gateway’s',
      { resources: [`${GATEWAY}.evil.example`] },
      { login: APP },
    ],
    ['whose domain hides another one', { domain: String.raw`app.example\.evil`, uri: APP }, {}],
  ])('is refused %s', async (_, text, origins) => {
    expect(await signIn(text, origins)).toEqual(refused)
  })

  test('is refused with the nonce that another page got', async () => {
    expect(await signIn({}, { nonce: 'https://evil.example', login: APP })).toEqual([401, 'EXPIRED_NONCE'])
    expect(await signIn({}, { nonce: 'https://evil.example' })).toEqual([401, 'EXPIRED_NONCE'])
  })

  test('is refused with a nonce of another service', async () => {
    expect(await signIn({ nonce: 'a1b2c3d4e5f60718' }, { login: APP })).toEqual([401, 'EXPIRED_NONCE'])
  })

  test('is refused in the short form, which wallets do not compare with the page', async () => {
    const wallet = gateway.wallet()
    for (const domain of ['app.example', 'gateway.example', 'Tollgate']) {
      const answer = await gateway.api.post('/auth/login').send(await wallet.login({}, { domain }))
      expect(outcomeOf(answer)).toEqual(refused)
      expect((answer.body as { message: string }).message).toMatch(/EIP-4361/)
    }
  })

  test('says what the text must name, also in the reference', async () => {
    const wallet = gateway.wallet()
    const nonce = await wallet.nonce()
    const issuedAt = gateway.clock.now().toISOString()
    const text = eip4361Text({ ...ofApp, resources: [], address: wallet.address, nonce, issuedAt })
    const answer = await gateway.api.post('/auth/login').send(await wallet.signed(text))
    expect((answer.body as { message: string }).message).toContain(`add ${GATEWAY} to its Resources`)
    expect((await gateway.api.get('/llms.txt')).text).toContain(`its \`Resources\` name \`${GATEWAY}\``)
  })
})

test('GET /auth/nonce says that every domain is taken, beside the gateway’s own', async () => {
  const answer = await gateway.api.get('/auth/nonce').expect(200)
  expect((answer.body as NonceAnswer).domains).toEqual(['*', 'gateway.example'])
})

test('a list of domains refuses the text of another one, whatever it names', async () => {
  const listed = await testGateway({ beside: gateway })
  const wallet = listed.wallet()
  const text = eip4361Text({
    ...ofApp,
    address: wallet.address,
    nonce: await wallet.nonce(),
    issuedAt: listed.clock.now().toISOString(),
  })
  expect(outcomeOf(await listed.api.post('/auth/login').send(await wallet.signed(text)))).toEqual(refused)
})

test.each([
  ['https://app.example', 'app.example', true],
  ['https://APP.example', 'app.Example', true],
  ['https://[::1]:8080', '[::1]:8080', true],
  ['http://app.example', 'app.example:443', false],
  ['https://app.example', 'app.example/', false],
  ['https://app.example', 'app%2eexample', false],
  ['https://app.example.', 'app.example', false],
  ['javascript:app.example', 'app.example', false],
  ['app.example', 'app.example', false],
])('%s is of the host %s: %s', (address, domain, isOf) => {
  expect(isOfHost(address, domain)).toBe(isOf)
})
