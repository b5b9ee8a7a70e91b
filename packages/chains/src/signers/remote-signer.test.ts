import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { hexOf, startWeb3Signer, type Web3Signer } from '@tollgate/devnet'
import { SigningKey } from 'ethers'
import { type SignerFailure, SignerUnavailable } from '../errors'
import { evmScheme } from '../evm/signing/scheme'
import type { RemoteSignerSettings } from '../family'
import { isSignature } from '../secp256k1'
import { createKeySigner } from './key-signer'
import { createAvailability, createRemoteSigners, publicPoint } from './remote-signer'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const newKey = () => `0x${randomBytes(32).toString('hex')}`
const message = Buffer.from('02c0ffee', 'hex')
/** Only where none comes: every other answer must be in time on a busy machine. */
const NO_ANSWER_MS = 200
const TIMEOUT_MS = 20_000
const closing: (() => unknown)[] = []
afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

async function start(changes: Partial<RemoteSignerSettings> = {}, token?: string) {
  const [key, other] = [newKey(), newKey()]
  const server = await startWeb3Signer({
    privateKeys: [key, other],
    ...(token === undefined ? {} : { token }),
  })
  const publicPoints = server.publicKeys.map((text) => publicPoint(text) ?? '')
  const remote = createRemoteSigners(
    { url: server.url, publicPoints, timeoutMs: TIMEOUT_MS, ...changes },
    evmScheme,
  )
  closing.push(server.stop, remote.close)
  const [first, second] = remote.signers
  if (!first || !second) throw new Error('There are two signers')
  return { server, key, other, first, second, remote }
}

/** Never holds the URL or a port of the signer. */
async function failureOf(signing: Promise<unknown>, { url }: Web3Signer): Promise<SignerFailure> {
  const error: unknown = await signing.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof SignerUnavailable)) throw new Error(`No SignerUnavailable: ${String(error)}`)
  expect(error.message).not.toContain(new URL(url).port)
  return error.failure
}

test('signs as the key in this process does, for the account of each public key', async () => {
  const { key, other, first, second } = await start()
  for (const [privateKey, signer] of [
    [key, first],
    [other, second],
  ] as const) {
    const local = createKeySigner(privateKey, evmScheme)
    expect(signer.address).toBe(local.address)
    expect(signer.publicKey).toEqual(local.publicKey)
    expect(await signer.sign(message)).toEqual(await local.sign(message))
    expect(isSignature(evmScheme.digestOf(message), await signer.sign(message), local.publicKey)).toBe(true)
  }
})

test('sends the token, and reports the status without it', async () => {
  const { first, server } = await start({ token: 'a-token' }, 'a-token')
  expect(await first.sign(message)).toHaveLength(64)
  const without = await start({}, 'a-token')
  expect(await failureOf(without.first.sign(message), server)).toBe('refused')
  expect(await without.first.remote?.check()).toBe('the remote signer answered with HTTP status 401')
})

type Faults = Parameters<Web3Signer['setFault']>[0]
const stranger = new SigningKey(newKey())
test.each<[string, Faults, SignerFailure]>([
  ['no answer', () => new Promise(() => {}), 'timeout'],
  ['status 500', () => ({ status: 500 }), 'refused'],
  ['status 404', () => ({ status: 404 }), 'refused'],
  ['status 204', () => ({ status: 204 }), 'refused'],
  [
    'a redirect to a signature',
    ({ sign }) => ({ status: 302, headers: { location: '/upcheck' }, body: hexOf(sign()) }),
    'refused',
  ],
  ['garbage', () => ({ body: 'garbage' }), 'invalid'],
  ['nothing', () => ({ body: '' }), 'invalid'],
  ['JSON', ({ sign }) => ({ body: JSON.stringify(hexOf(sign())) }), 'invalid'],
  ['a short signature', ({ sign }) => ({ body: hexOf(sign()).slice(0, -2) }), 'invalid'],
  ['a long signature', ({ sign }) => ({ body: `${hexOf(sign())}00` }), 'invalid'],
  ['zeros', () => ({ body: `0x${'00'.repeat(65)}` }), 'invalid'],
  ['the signature of another key', ({ sign }) => ({ body: hexOf(sign(stranger)) }), 'invalid'],
  [
    'the high-s twin',
    ({ sign }) => {
      const { r, s, v } = sign()
      const high = `0x${(ORDER - BigInt(s)).toString(16).padStart(64, '0')}`
      return { body: hexOf({ r, s: high, v: v === 27 ? 28 : 27 }) }
    },
    'invalid',
  ],
  ['megabytes', ({ sign }) => ({ body: hexOf(sign()) + ' '.repeat(3_000_000) }), 'refused'],
])('refuses %s', async (_name, fault, failure) => {
  const { server, first } = await start(failure === 'timeout' ? { timeoutMs: NO_ANSWER_MS } : {})
  server.setFault(fault)
  expect(await failureOf(first.sign(message), server)).toBe(failure)
  expect(await first.remote?.isAvailable()).toBe(false)
})

test('takes a signature with any last byte, because the key tells which point it is of', async () => {
  const { server, first } = await start()
  for (const v of [0, 1, 27, 28, 37]) {
    server.setFault(({ sign }) => ({ body: hexOf({ ...sign(), v }) }))
    expect(await first.sign(message)).toHaveLength(64)
  }
})

test('reports a service that is gone', async () => {
  const { server, first } = await start()
  await server.stop()
  closing.shift()
  expect(await failureOf(first.sign(message), server)).toBe('unreachable')
  expect(await first.remote?.check()).toBe('the remote signer failed with ECONNREFUSED')
})

test('is available again once the service passes a check, and asks for nothing before a failure', async () => {
  const { server, first, second } = await start()
  server.setUp(false)
  expect(await first.remote?.isAvailable()).toBe(true)
  await failureOf(first.sign(message), server)
  expect(await second.remote?.isAvailable()).toBe(true)
  expect(await first.remote?.isAvailable()).toBe(false)
  server.setUp(true)
  const deadline = performance.now() + 10_000
  while (!(await first.remote?.isAvailable()) && performance.now() < deadline) await delay(20)
  expect(await first.remote?.isAvailable()).toBe(true)
  expect(await first.sign(message)).toHaveLength(64)
})

test('a signer that gets no answers takes no connections of another one', async () => {
  const { server, key, first, second } = await start()
  const silent = new SigningKey(key)
  server.setFault(({ sign, isOf }) => (isOf(silent) ? new Promise(() => {}) : { body: hexOf(sign()) }))
  // As many as its transactions and a check can have open.
  for (let i = 0; i < 17; i++) void first.sign(message).catch(() => undefined)
  while (server.signed.length < 17) await delay(5)
  const answer = await Promise.race([second.sign(message), delay(TIMEOUT_MS / 2, 'none', { ref: false })])
  expect(answer).toHaveLength(64)
})

test('pauses longer after each failure, also where other requests succeed in between', async () => {
  let now = 0
  const { read, failed, succeeded } = createAvailability(() => now)
  const pauses: number[] = []
  for (let round = 0; round < 7; round++) {
    succeeded()
    failed()
    const from = now
    while (!(await read(() => Promise.resolve(undefined)))) now += 500
    pauses.push(now - from)
  }
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
  now += 60_000
  succeeded()
  expect(await read(() => Promise.resolve('not asked'))).toBe(true)
  failed()
  now += 500
  expect(await read(() => Promise.resolve(undefined))).toBe(true)
})

test('failures of one batch pause once, and after them one check at a time must succeed before it is used', async () => {
  let now = 0
  const { read, failed } = createAvailability(() => now)
  failed()
  now = 499
  failed()
  now = 500
  let checks = 0
  const failing = () => Promise.resolve(`problem ${++checks}`)
  expect(await Promise.all([read(failing), read(failing)])).toEqual([false, false])
  expect(await read(failing)).toBe(false)
  expect(checks).toBe(1)
  now = 1_000
  expect(await read(failing)).toBe(false)
  expect(checks).toBe(2)
  now = 1_500
  expect(await read(() => Promise.resolve(undefined))).toBe(true)
})

test('calls a service by TLS that the configured authority signed, with the client certificate, and no other', async () => {
  const key = newKey()
  const tls = { key: TLS_KEY, cert: TLS_CERTIFICATE, ca: TLS_CERTIFICATE, requestCert: true }
  const server = await startWeb3Signer({ privateKeys: [key], tls })
  closing.push(server.stop)
  const signerWith = (settings: RemoteSignerSettings['tls']) => {
    const { signers, close } = createRemoteSigners(
      {
        url: server.url,
        publicPoints: [publicPoint(server.publicKeys[0] ?? '') ?? ''],
        timeoutMs: TIMEOUT_MS,
        ...(settings && { tls: settings }),
      },
      evmScheme,
    )
    closing.push(close)
    if (!signers[0]) throw new Error('There is a signer')
    return signers[0]
  }
  const ca = TLS_CERTIFICATE
  expect(await signerWith({ ca, cert: TLS_CERTIFICATE, key: TLS_KEY }).sign(message)).toHaveLength(64)
  for (const settings of [{ ca }, undefined, { cert: TLS_CERTIFICATE, key: TLS_KEY }])
    expect(await failureOf(signerWith(settings).sign(message), server)).toBe('refused')
  expect(server.signed).toHaveLength(1)
})

test('a check fails if the service does not have the key', async () => {
  const { first, server, remote } = await start()
  expect(await first.remote?.check()).toBeUndefined()
  expect(remote.signers).toHaveLength(2)
  const missing = publicPoint(stranger.publicKey) ?? ''
  const other = createRemoteSigners(
    { url: server.url, publicPoints: [missing], timeoutMs: TIMEOUT_MS },
    evmScheme,
  )
  closing.push(other.close)
  expect(await other.signers[0]?.remote?.check()).toBe('the remote signer does not have the key')
})

test('reads public keys in the spellings of Web3Signer, and no others', () => {
  const { publicKey, compressedPublicKey } = new SigningKey(newKey())
  const point = publicKey.slice(4)
  for (const text of [publicKey, point, `0x${point}`, `04${point}`, `0x${point.toUpperCase()}`])
    expect(publicPoint(text)).toBe(point)
  for (const text of [compressedPublicKey, '', '0x', `0x05${point}`, '11'.repeat(64), `${point}00`])
    expect(publicPoint(text)).toBeUndefined()
})

/** Of 127.0.0.1, of its own authority, for tests only. */
const TLS_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT6gAwIBAgIUBh7lXim4FkqtFVFhk4Vx9Of+9HQwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNdG9sbGdhdGUtdGVzdDAgFw0yNjExMjYxMDE0NTRaGA8yMTI2
MTEwMjEwMTQ1NFowGDEWMBQGA1UEAwwNdG9sbGdhdGUtdGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABOlU/dbPyZjHmSTrXuZ9VimpqnnzAhS6F0utPDkdkqPQ
rV+VQD4OvBgsl3avAKD1y075/MaIKVaq7S8qIEL7pMCjZDBiMB0GA1UdDgQWBBS8
6HjSJ2MAsioXqiX390enWpxNgTAfBgNVHSMEGDAWgBS86HjSJ2MAsioXqiX390en
WpxNgTAPBgNVHRMBAf8EBTADAQH/MA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0E
AwIDSQAwRgIhAK81PYdoPx1OQSXgwQynI+0mSuNq0KtJ1DCVKzKHeihhAiEA2DJD
jcjyczr7J0bkMOhuxxeGTN9hg01d+2/dMxSjfNo=
-----END CERTIFICATE-----
`
const TLS_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgatr66Q9GiWFfwKJx
ka4toj2ibLH8nfr25XiHA1AqYF6hRANCAATpVP3Wz8mYx5kk617mfVYpqap58wIU
uhdLrTw5HZKj0K1flUA+DrwYLJd2rwCg9ctO+fzGiClWqu0vKiBC+6TA
-----END PRIVATE KEY-----
`
