import { randomBytes } from 'node:crypto'
import { SigningKey } from 'ethers'
import { curveIsNative, recoverPublicKey, recoverSlowly } from './curve'

function signed() {
  const key = new SigningKey(randomBytes(32))
  const digest = randomBytes(32)
  const { r, s, yParity } = key.sign(digest)
  return { key, digest, rs: Buffer.from(r.slice(2) + s.slice(2), 'hex'), yParity }
}
const hex = (bytes: Uint8Array | undefined) => bytes && `0x${Buffer.from(bytes).toString('hex')}`

describe('recoverPublicKey', () => {
  test('is native on this machine', () => expect(curveIsNative).toBe(true))

  test.each([
    ['native', undefined],
    ['JavaScript', recoverSlowly],
  ])('finds the key that signed, in %s', (_, recover) => {
    for (let i = 0; i < 50; i++) {
      const { key, digest, rs, yParity } = signed()
      expect(hex(recoverPublicKey(digest, rs, yParity, recover))).toBe(key.publicKey)
    }
  })

  test.each([
    ['native', undefined],
    ['JavaScript', recoverSlowly],
  ])('answers undefined for numbers that no key can have made, in %s', (_, recover) => {
    const { digest, rs } = signed()
    const zero = Buffer.alloc(32)
    const order = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex')
    const [r, s] = [rs.subarray(0, 32), rs.subarray(32)]
    for (const bad of [
      [zero, s],
      [r, zero],
      [order, s],
      [r, order],
      [Buffer.alloc(32, 0xff), s],
    ])
      expect(recoverPublicKey(digest, Buffer.concat(bad), 0, recover)).toBeUndefined()
  })
})
