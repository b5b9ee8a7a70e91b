import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { parseAddress, prefixOf } from './address'
import { verifySignIn } from './signing/sign-in'
import { vectors } from './testing/vectors'

const flip = (bytes: Uint8Array, bit: number) => {
  const flipped = Buffer.from(bytes)
  flipped[bit >> 3]! ^= 1 << (bit & 7)
  return flipped
}
/** `base64` with each of its bits flipped in turn, or every so many-th. */
function* flips(base64: string, each = 1) {
  const bytes = Buffer.from(base64, 'base64')
  for (let bit = 0; bit < bytes.length * 8; bit += each) yield flip(bytes, bit).toString('base64')
}

test('there are three libraries and more, and each signed in with keys and texts of all kinds', () => {
  expect(vectors.map(([name]) => name)).toEqual(['cosmjs', 'feather', 'injective', 'keplr'])
  const signIns = vectors.flatMap(([, each]) => each.signIns)
  for (const type of ['secp256k1', 'ethsecp256k1'])
    for (const text of [/世界/, /\n.*\n/, /<.*>.*&/, /\u2028/])
      expect(signIns.some(({ key, message }) => key === type && text.test(message))).toBe(true)
  expect(new Set(signIns.map(({ address }) => prefixOf(address))).size).toBeGreaterThan(5)
})

describe.each(vectors)('ADR-036 as %s signs it', (_, { signIns }) => {
  test('is verified, whatever the text and the prefix', () => {
    for (const proof of signIns) {
      expect([proof.message, verifySignIn(proof)]).toEqual([proof.message, true])
      const upper = { ...proof, address: proof.address.toUpperCase() }
      expect(verifySignIn(upper)).toBe(true)
    }
  })

  test('is not with any one bit of signature or public key flipped', () => {
    const firstOf = new Map(signIns.map((signIn) => [signIn.key, signIn]))
    for (const proof of firstOf.values()) {
      for (const signature of flips(proof.signature))
        expect(verifySignIn({ ...proof, signature })).toBe(false)
      for (const pubkey of flips(proof.pubkey)) expect(verifySignIn({ ...proof, pubkey })).toBe(false)
    }
    for (const proof of signIns) {
      for (const signature of flips(proof.signature, 61))
        expect(verifySignIn({ ...proof, signature })).toBe(false)
      for (const pubkey of flips(proof.pubkey, 61)) expect(verifySignIn({ ...proof, pubkey })).toBe(false)
    }
  })

  test('is not with a bit of its text or of its address’s bytes flipped, and not under another prefix', () => {
    for (const proof of signIns) {
      const text = Buffer.from(proof.message, 'utf8')
      for (let bit = 0; bit < text.length * 8; bit += Math.max(1, Math.floor(text.length / 4)))
        expect(verifySignIn({ ...proof, message: flip(text, bit).toString('utf8') })).toBe(false)
      for (const address of neighbours(proof.address)) {
        expect(parseAddress(address)).toBe(address)
        expect(verifySignIn({ ...proof, address })).toBe(false)
      }
    }
  })

  test('is not for another text of the same signer, and not for another signer of the same text', () => {
    for (const [at, proof] of signIns.entries())
      for (const [other, { message, address, pubkey }] of signIns.entries())
        if (at !== other) {
          if (message !== proof.message) expect(verifySignIn({ ...proof, message })).toBe(false)
          if (address !== proof.address) expect(verifySignIn({ ...proof, address, pubkey })).toBe(false)
        }
  })
})

/** The same bytes under other prefixes, and bytes that differ by a bit. */
function neighbours(address: string): string[] {
  const { data, prefix } = fromBech32(address, 90)
  const others = ['cosmos', 'osmo', 'inj', 'cosmosvaloper', `${prefix}x`].filter((each) => each !== prefix)
  return [
    ...others.map((other) => toBech32(other, data)),
    ...Array.from({ length: 10 }, (_, at) => toBech32(prefix, flip(data, at * 16 + (at % 8)))),
  ]
}
