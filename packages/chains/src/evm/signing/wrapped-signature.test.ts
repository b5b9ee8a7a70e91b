import { AbiCoder, concat, hexlify, randomBytes, toBeHex } from 'ethers'
import { parseErc6492Signature, serializeErc6492Signature } from 'viem'
import { isWrapper, readSignature } from './wrapped-signature'

const coder = AbiCoder.defaultAbiCoder()
const SUFFIX = `0x${'6492'.repeat(16)}`
type Hex = `0x${string}`
const random = (length: number) => hexlify(randomBytes(length)) as Hex
const [factory, data, inner] = [random(20), random(100), random(65)]
const wrap = (signature: string, callData: string = data): Hex =>
  serializeErc6492Signature({ address: factory, data: callData as Hex, signature: signature as Hex })
const wrapped = wrap(inner)
const content = wrapped.slice(2, -64)
const words = content.match(/.{64}/g)!
/** The wrapper with other words in place of some. */
const withWords = (changes: Record<number, string>, more = ''): string =>
  `0x${words.map((word, i) => changes[i] ?? word).join('')}${more}${SUFFIX.slice(2)}`
const word = (value: number | bigint) => toBeHex(value, 32).slice(2)

test.each([
  [0, 0],
  [1, 65],
  [32, 64],
  [260, 704],
  [31, 33],
])('reads what viem wraps: %i bytes for the factory, and a signature of %i', (ofCall, ofSignature) => {
  const [callData, signature] = [random(ofCall), random(ofSignature)]
  const given = wrap(signature, callData)
  expect(readSignature(given)).toEqual({ signature, deployment: { factory, data: callData } })
  const viem = parseErc6492Signature(given)
  expect([viem.address?.toLowerCase(), viem.signature]).toEqual([factory, signature])
})

test.each(['0x', '0x12', random(65), random(300), `${SUFFIX}00`, concat([SUFFIX, inner])])(
  'leaves a signature without the suffix as it is: %j',
  (signature) => {
    expect(readSignature(signature)).toEqual({ signature })
    expect(isWrapper(signature)).toBe(false)
  },
)

test('a wrapper in a wrapper stays one', () => {
  const { signature } = readSignature(wrap(wrapped))
  expect(signature).toBe(wrapped)
  expect(isWrapper(signature)).toBe(true)
})

const HUGE = 'f'.repeat(64)
test.each<[string, string]>([
  ['the suffix alone', SUFFIX],
  ['nothing but a signature', concat([inner, SUFFIX])],
  ['a word after the signature', withWords({}, word(0))],
  ['a byte after the signature', withWords({}, '00')],
  ['a byte less', `0x${content.slice(0, -2)}${SUFFIX.slice(2)}`],
  ['bits before the address of the factory', withWords({ 0: `1${'0'.repeat(23)}${factory.slice(2)}` })],
  ['an offset into the head', withWords({ 1: word(0x40) })],
  ['two offsets to the same bytes', withWords({ 2: words[1]! })],
  ['the offsets swapped', withWords({ 1: words[2]!, 2: words[1]! })],
  ['an offset past the end', withWords({ 2: word(2 ** 31) })],
  ['an offset past 2^255', withWords({ 1: HUGE })],
  ['a length past the end', withWords({ 3: word(101 * 32) })],
  ['a length past 2^255', withWords({ 3: HUGE })],
  ['a signature longer than what is there', withWords({ 8: word(97) })],
  ['a signature past 2^255', withWords({ 8: HUGE })],
  ['a shorter signature before bytes that are not zero', withWords({ 8: word(64) })],
  ['a padding that is not zero', withWords({ 7: `${words[7]!.slice(0, -1)}1` })],
  [
    'bytes between the arguments',
    concat([
      `0x${[words[0], words[1], word(320), ...words.slice(3, 8), word(0), ...words.slice(8)].join('')}`,
      SUFFIX,
    ]),
  ],
  [
    'another order of arguments',
    concat([coder.encode(['bytes', 'address', 'bytes'], [data, factory, inner]), SUFFIX]),
  ],
  [
    'the arguments as a tuple',
    concat([coder.encode(['tuple(address,bytes,bytes)'], [[factory, data, inner]]), SUFFIX]),
  ],
])('is not read: %s', (_, given) => {
  expect(readSignature(given)).toEqual({ signature: given })
  expect(isWrapper(given)).toBe(true)
})
