import { toBech32 } from '@cosmjs/encoding'
import { SigningKey } from 'ethers'
import { addressOf, parseAddress, prefixOf } from './address'

const bytes = Buffer.from('11'.repeat(20), 'hex')
const address = 'cosmos1zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3pahzj0'

// BIP-173 with any checksum constant and any words: what the strict reader must refuse.
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
function encode(prefix: string, words: number[], constant = 1) {
  const values = [
    ...Array.from(prefix, (each) => each.charCodeAt(0) >> 5),
    0,
    ...Array.from(prefix, (each) => each.charCodeAt(0) & 31),
    ...words,
    ...[0, 0, 0, 0, 0, 0],
  ]
  const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
  const sum =
    values.reduce((state, value) => {
      const top = state >>> 25
      return generators.reduce(
        (next, generator, bit) => ((top >> bit) & 1 ? next ^ generator : next),
        ((state & 0x1ffffff) << 5) ^ value,
      )
    }, 1) ^ constant
  const checksum = [25, 20, 15, 10, 5, 0].map((shift) => (sum >> shift) & 31)
  return `${prefix}1${[...words, ...checksum].map((word) => alphabet[word]).join('')}`
}
/** 20 zeros. */
const words = Array<number>(32).fill(0)

describe('parseAddress', () => {
  test('takes any prefix, and 20 or 32 bytes', () => {
    for (const prefix of ['cosmos', 'osmo', 'inj', 'celestia', 'a', 'cosmosvaloper', 'c4e', 'x1y'])
      for (const length of [20, 32]) {
        const text = toBech32(prefix, Buffer.alloc(length, 7))
        expect(parseAddress(text)).toBe(text)
      }
    expect(parseAddress(address)).toBe(address)
  })

  test('spells an address in capitals in lower case, and knows none in both', () => {
    expect(parseAddress(address.toUpperCase())).toBe(address)
    expect(parseAddress(address.replace('c', 'C'))).toBeUndefined()
    expect(parseAddress(address.replace('zyg', 'ZYG'))).toBeUndefined()
  })

  test('keeps the same bytes under two prefixes apart', () => {
    expect(parseAddress(toBech32('osmo', bytes))).not.toBe(parseAddress(toBech32('cosmos', bytes)))
  })

  test('refuses every other character in place of any of its own', () => {
    for (let at = 0; at < address.length; at++)
      for (const other of [...Array.from(alphabet), 'b', '1', '0', ' ', 'é'])
        if (other !== address[at])
          expect(parseAddress(address.slice(0, at) + other + address.slice(at + 1))).toBeUndefined()
  })

  test('takes what the encoder of these tests writes before it breaks the rules of BIP-173', () => {
    expect(parseAddress(encode('cosmos', words))).toBe(toBech32('cosmos', Buffer.alloc(20)))
    const longer = toBech32('cosmos', Buffer.alloc(32))
    expect(parseAddress(encode('cosmos', Array<number>(52).fill(0)))).toBe(longer)
  })

  test.each([
    ['nothing', ''],
    ['a prefix alone', 'cosmos'],
    ['no prefix', address.slice(6)],
    ['another length', toBech32('cosmos', Buffer.alloc(19))],
    ['the length of nothing', toBech32('cosmos', Buffer.alloc(0))],
    ['the length of a key', toBech32('cosmos', Buffer.alloc(33), 100)],
    ['the checksum of Bech32m', encode('cosmos', words, 0x2bc830a3)],
    ['bits that are left over', encode('cosmos', [...Array<number>(51).fill(0), 1])],
    ['a word too many', encode('cosmos', [...words, 0])],
    ['more than 90 characters', encode('c'.repeat(60), words)],
    ['a prefix that no chain has', encode('0x', words)],
    ['a prefix with a colon', encode('cosmos:hub', words)],
    ['a line break after it', `${address}\n`],
    ['a space before it', ` ${address}`],
    ['an EVM address', '0x036CbD53842c5426634e7929541eC2318f3dCF7e'],
    ['a name of an object', '__proto__'],
  ])('refuses %s', (_, text) => expect(parseAddress(text)).toBeUndefined())
})

test('the prefix is what stands before the last 1', () => {
  expect(prefixOf(address)).toBe('cosmos')
  expect(prefixOf(toBech32('x1y', bytes))).toBe('x1y')
})

describe('addressOf', () => {
  // The key of the test mnemonic that starts Hardhat's and many other chains' accounts, on Ethereum's path.
  const { compressedPublicKey } = new SigningKey(
    '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  )
  const key = Buffer.from(compressedPublicKey.slice(2), 'hex')

  test('hashes a Cosmos key with SHA-256 and RIPEMD-160', () => {
    // https://github.com/cosmos/cosmos-sdk, crypto/keys/secp256k1: a key and its address, in hex.
    const known = Buffer.from('02950e1cdfcb133d6024109fd489f734eeb4502418e538c28481f22bce276f248c', 'hex')
    expect(addressOf({ type: 'secp256k1', bytes: known }, 'cosmos')).toBe(
      toBech32('cosmos', Buffer.from('7c2bb42a8be69791ec763e51f5a49bcd41e82237', 'hex')),
    )
  })

  test('makes that of an Ethereum key as Ethereum does', () =>
    expect(addressOf({ type: 'ethsecp256k1', bytes: key }, 'inj')).toBe(
      toBech32('inj', Buffer.from('f39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'hex')),
    ))
})
