import { rawSecp256k1PubkeyToRawAddress } from '@cosmjs/amino'
import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { uncompressPublicKey } from '../secp256k1'
import { keccak256 } from '../keccak'
import type { PublicKey } from './signing/public-key'

/** The limit of BIP-173. */
const MAX_LENGTH = 90
const prefix = /^[a-z][a-z0-9]*$/

/** Bytes of accounts with a key, and of module and contract accounts. */
const lengths = [20, 32]

/** The lower-case spelling of a bech32 address with any prefix; undefined if `text` is not one. */
export function parseAddress(text: string): string | undefined {
  try {
    const address = fromBech32(text, MAX_LENGTH)
    if (!prefix.test(address.prefix) || !lengths.includes(address.data.length)) return undefined
    return text.toLowerCase()
  } catch {
    return undefined
  }
}

/** `cosmos` of `cosmos1…`. */
export const prefixOf = (address: string): string => address.slice(0, address.lastIndexOf('1'))

/** By the key's type, the bytes are RIPEMD-160 of SHA-256 of the compressed key, or the key's Ethereum address. */
export const addressOf = (publicKey: PublicKey, prefix: string): string =>
  toBech32(prefix, addressBytes[publicKey.type](publicKey.bytes), MAX_LENGTH)

const addressBytes: Record<PublicKey['type'], (key: Uint8Array) => Uint8Array> = {
  secp256k1: rawSecp256k1PubkeyToRawAddress,
  ethsecp256k1(key) {
    const uncompressed = uncompressPublicKey(key)
    if (!uncompressed) throw new RangeError('The public key is not a point of the curve')
    return Buffer.from(keccak256(uncompressed.subarray(1)).slice(-40), 'hex')
  },
}
