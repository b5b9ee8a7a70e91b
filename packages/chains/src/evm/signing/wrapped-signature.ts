import { addressWord, bytesArgument, uintWord } from '../abi'

/** The call that deploys a contract wallet. */
export type Deployment = { factory: string; data: string }

/** A signature as its signer checks it. `deployment`: only if it came in a wrapper, which contract wallets alone make. */
export type ReadSignature = { signature: string; deployment?: Deployment }

const SUFFIX = '6492'.repeat(16)

/** Whether this is a wrapper (ERC-6492). After `readSignature`: a malformed wrapper, or one in another. */
export const isWrapper = (signature: string): boolean => signature.endsWith(SUFFIX)

/**
 * Takes the signature out of its ERC-6492 wrapper: `abi.encode(factory, factoryCalldata, signature)` and the suffix. A
 * wrapper in another encoding than the canonical one stays as it is. `given`: lower-case hex.
 */
export function readSignature(given: string): ReadSignature {
  if (!isWrapper(given)) return { signature: given }
  const content = given.slice(2, -SUFFIX.length)
  const data = bytesAt(content, HEAD_WORDS)
  const signature = bytesAt(content, HEAD_WORDS + wordsOf(data))
  const factory = `0x${content.slice(24, 64)}`
  return encode(factory, data, signature) === content
    ? { signature, deployment: { factory, data } }
    : { signature: given }
}

const HEAD_WORDS = 3
const WORD_LENGTH = 64

/** Words that `bytes` take, with their length. */
const wordsOf = (hex: string): number => bytesArgument(hex).length / WORD_LENGTH

/** The `bytes` whose length is word `index`; cut off where the content ends. */
function bytesAt(content: string, index: number): string {
  const start = index * WORD_LENGTH
  const length = Number(`0x0${content.slice(start, start + WORD_LENGTH)}`)
  return `0x${content.slice(start + WORD_LENGTH, start + WORD_LENGTH + 2 * length)}`
}

const encode = (factory: string, data: string, signature: string): string =>
  [
    addressWord(factory),
    uintWord(HEAD_WORDS * 32),
    uintWord((HEAD_WORDS + wordsOf(data)) * 32),
    bytesArgument(data),
    bytesArgument(signature),
  ].join('')
