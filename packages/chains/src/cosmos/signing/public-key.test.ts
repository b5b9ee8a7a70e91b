import { createHash, randomBytes } from 'node:crypto'
import { Secp256k1, keccak256 } from '@cosmjs/crypto'
import { SigningKey } from 'ethers'
import { isSignedBy, readPublicKey, type PublicKey } from './public-key'

const secret = new SigningKey(randomBytes(32))
const bytes = Buffer.from(secret.compressedPublicKey.slice(2), 'hex')
const value = Buffer.concat([Buffer.of(0x0a, 33), bytes])
const cosmos = '/cosmos.crypto.secp256k1.PubKey'

describe('readPublicKey', () => {
  test.each([
    [cosmos, 'secp256k1'],
    ['/injective.crypto.v1beta1.ethsecp256k1.PubKey', 'ethsecp256k1'],
    ['/ethermint.crypto.v1.ethsecp256k1.PubKey', 'ethsecp256k1'],
    ['/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', 'ethsecp256k1'],
  ])('reads %s as a key of %s', (typeUrl, type) =>
    expect(readPublicKey({ typeUrl, value })).toEqual({ type, bytes }),
  )

  test.each([
    '/cosmos.crypto.multisig.LegacyAminoPubKey',
    '/cosmos.crypto.ed25519.PubKey',
    '/cosmos.crypto.secp256r1.PubKey',
    '/cosmos.crypto.bn254.PubKey',
    'cosmos.crypto.secp256k1.PubKey',
    '/cosmos.crypto.secp256k1.PubKey/',
    '/COSMOS.crypto.secp256k1.PubKey',
    '/cosmos.crypto.secp256k1.PrivKey',
    '__proto__',
    'constructor',
    '',
  ])('knows no key of type %j', (typeUrl) => expect(readPublicKey({ typeUrl, value })).toBeUndefined())

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['the bare key', bytes],
    ['a byte after it', Buffer.concat([value, Buffer.of(0)])],
    ['a field after it', Buffer.concat([value, Buffer.of(0x10, 1)])],
    ['the field twice', Buffer.concat([value, value])],
    ['another field', Buffer.concat([Buffer.of(0x12, 33), bytes])],
    ['a length in two bytes', Buffer.concat([Buffer.of(0x0a, 0xa1, 0x00), bytes])],
    ['a tag in two bytes', Buffer.concat([Buffer.of(0x8a, 0x00, 33), bytes])],
    ['a length too long', Buffer.concat([Buffer.of(0x0a, 34), bytes])],
    ['a key without its first byte', Buffer.concat([Buffer.of(0x0a, 32), bytes.subarray(1)])],
    [
      'an uncompressed key',
      Buffer.concat([Buffer.of(0x0a, 65), Buffer.from(secret.publicKey.slice(2), 'hex')]),
    ],
    ['no point', Buffer.concat([Buffer.of(0x0a, 33), Buffer.from(`02${'0'.repeat(63)}5`, 'hex')])],
    ['zeros', Buffer.concat([Buffer.of(0x0a, 33), Buffer.alloc(33)])],
  ])('reads no key from %s', (_, bad) =>
    expect(readPublicKey({ typeUrl: cosmos, value: bad })).toBeUndefined(),
  )
})

describe('isSignedBy', () => {
  const signBytes = randomBytes(300)
  const digests = {
    secp256k1: createHash('sha256').update(signBytes).digest(),
    ethsecp256k1: keccak256(signBytes),
  }
  const sign = (type: PublicKey['type']) =>
    Secp256k1.createSignature(digests[type], Buffer.from(secret.privateKey.slice(2), 'hex'))
      .toFixedLength()
      .subarray(0, 64)

  test.each([
    ['secp256k1', 'ethsecp256k1'],
    ['ethsecp256k1', 'secp256k1'],
  ] as const)('a key of %s signs its own digest, not that of %s', (type, other) => {
    expect(isSignedBy({ type, bytes }, signBytes, sign(type))).toBe(true)
    expect(isSignedBy({ type, bytes }, signBytes, sign(other))).toBe(false)
    expect(isSignedBy({ type, bytes }, signBytes.subarray(1), sign(type))).toBe(false)
  })

  test('a signature of another length is none', () => {
    const signature = sign('secp256k1')
    for (const other of [
      Buffer.concat([signature, Buffer.of(0)]),
      Buffer.concat([signature, Buffer.of(27)]),
      signature.subarray(0, 63),
      Buffer.alloc(64),
      Buffer.alloc(0),
    ])
      expect(isSignedBy({ type: 'secp256k1', bytes }, signBytes, other)).toBe(false)
  })
})
