import { randomBytes } from 'node:crypto'
import { SigningKey } from 'ethers'
import { curveIsNative, isSignature, recoverPublicKey, slowCurve, uncompressPublicKey } from './secp256k1'

function signed() {
  const key = new SigningKey(randomBytes(32))
  const digest = randomBytes(32)
  const { r, s, yParity } = key.sign(digest)
  return {
    key,
    publicKey: Buffer.from(key.compressedPublicKey.slice(2), 'hex'),
    digest,
    rs: Buffer.from(r.slice(2) + s.slice(2), 'hex'),
    yParity,
  }
}
const hex = (bytes: Uint8Array | undefined) => bytes && `0x${Buffer.from(bytes).toString('hex')}`

const zero = Buffer.alloc(32)
const order = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex')

/** The signature that anyone can make of another: s negated. */
function highTwin(rs: Buffer) {
  const s = BigInt(hex(order)!) - BigInt(hex(rs.subarray(32))!)
  return Buffer.concat([rs.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')])
}

function* bitFlips(bytes: Uint8Array, each = 1) {
  for (let bit = 0; bit < bytes.length * 8; bit += each) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    yield flipped
  }
}

test('the curve is native on this machine', () => expect(curveIsNative).toBe(true))

describe.each([
  ['native', undefined],
  ['JavaScript', slowCurve],
])('in %s', (_, curve) => {
  describe('recoverPublicKey', () => {
    test('finds the key that signed', () => {
      for (let i = 0; i < 50; i++) {
        const { key, digest, rs, yParity } = signed()
        expect(hex(recoverPublicKey(digest, rs, yParity, curve))).toBe(key.publicKey)
      }
    })

    test('answers undefined for numbers that no key can have made', () => {
      const { digest, rs } = signed()
      const [r, s] = [rs.subarray(0, 32), rs.subarray(32)]
      for (const bad of [
        [zero, s],
        [r, zero],
        [order, s],
        [r, order],
        [Buffer.alloc(32, 0xff), s],
      ])
        expect(recoverPublicKey(digest, Buffer.concat(bad), 0, curve)).toBeUndefined()
    })

    test('answers undefined for the high-s twin', () => {
      const { digest, rs, yParity } = signed()
      expect(recoverPublicKey(digest, highTwin(rs), 1 - yParity, curve)).toBeUndefined()
    })
  })

  describe('isSignature', () => {
    test('takes what the key signed, and nothing of another key or over another digest', () => {
      for (let i = 0; i < 50; i++) {
        const { publicKey, digest, rs } = signed()
        expect(isSignature(digest, rs, publicKey, curve)).toBe(true)
        expect(isSignature(digest, rs, signed().publicKey, curve)).toBe(false)
        expect(isSignature(randomBytes(32), rs, publicKey, curve)).toBe(false)
      }
    })

    test('refuses the high-s twin, though it fits the same numbers', () => {
      for (let i = 0; i < 20; i++) {
        const { publicKey, digest, rs } = signed()
        expect(isSignature(digest, highTwin(rs), publicKey, curve)).toBe(false)
      }
    })

    test('refuses every other length: DER, a recovery id, a key that is not compressed', () => {
      const { key, publicKey, digest, rs, yParity } = signed()
      const der = Buffer.from(
        '30440220'.concat(rs.toString('hex', 0, 32), '0220', rs.toString('hex', 32)),
        'hex',
      )
      for (const signature of [
        der,
        Buffer.concat([rs, Buffer.of(yParity)]),
        rs.subarray(0, 63),
        Buffer.alloc(0),
      ])
        expect(isSignature(digest, signature, publicKey, curve)).toBe(false)
      const uncompressed = Buffer.from(key.publicKey.slice(2), 'hex')
      for (const other of [uncompressed, uncompressed.subarray(1), publicKey.subarray(1), Buffer.alloc(0)])
        expect(isSignature(digest, rs, other, curve)).toBe(false)
    })

    test('refuses numbers that no key can have made, and keys that are no points', () => {
      const { publicKey, digest, rs } = signed()
      const [r, s] = [rs.subarray(0, 32), rs.subarray(32)]
      for (const bad of [
        [zero, s],
        [r, zero],
        [zero, zero],
        [order, s],
        [Buffer.alloc(32, 0xff), s],
      ])
        expect(isSignature(digest, Buffer.concat(bad), publicKey, curve)).toBe(false)
      for (const first of [0, 1, 4, 5, 6, 7])
        expect(isSignature(digest, rs, Buffer.from(publicKey).fill(first, 0, 1), curve)).toBe(false)
      expect(isSignature(digest, rs, Buffer.alloc(33), curve)).toBe(false)
    })

    test('refuses any one bit flipped of signature, key and digest', () => {
      const { publicKey, digest, rs } = signed()
      // The slow one is asked about a few of them.
      const each = curve ? 37 : 1
      for (const bad of bitFlips(rs, each)) expect(isSignature(digest, bad, publicKey, curve)).toBe(false)
      for (const bad of bitFlips(publicKey, each)) expect(isSignature(digest, rs, bad, curve)).toBe(false)
      for (const bad of bitFlips(digest, each)) expect(isSignature(bad, rs, publicKey, curve)).toBe(false)
    })
  })

  describe('uncompressPublicKey', () => {
    test('finds the other half of a key', () => {
      for (let i = 0; i < 50; i++) {
        const { key, publicKey } = signed()
        expect(hex(uncompressPublicKey(publicKey, curve))).toBe(key.publicKey)
      }
    })

    test('answers undefined for what is no compressed point', () => {
      const { key } = signed()
      const offCurve = Buffer.from(`02${'0'.repeat(63)}5`, 'hex')
      const past = Buffer.from(`02${'f'.repeat(64)}`, 'hex')
      const uncompressed = Buffer.from(key.publicKey.slice(2), 'hex')
      for (const bytes of [offCurve, past, uncompressed, Buffer.alloc(33), Buffer.alloc(0)])
        expect(uncompressPublicKey(bytes, curve)).toBeUndefined()
    })
  })
})
