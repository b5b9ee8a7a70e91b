import { rawSecp256k1PubkeyToRawAddress } from '@cosmjs/amino'
import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { uncompressPublicKey } from '../curve'
import { keccak256 } from '../keccak'
import type { PublicKey } from './public-key'

/** BIP-173: no longer text is bech32. */
const MAX_LENGTH = 90
const prefix = /^[a-z][a-z0-9]*$/

/** Of accounts with a key, and of those that a module or a contract has. */
const lengths = [20, 32]

/**
 * The canonical spelling, in lower case, of a bech32 address of any prefix; undefined where `text` is none. The same bytes
 * under two prefixes are two addresses.
 */
export function parseAddress(text: string): string | undefined {
  try {
    const address = fromBech32(text, MAX_LENGTH)
    if (!prefix.test(address.prefix) || !lengths.includes(address.data.length)) return undefined
    return text.toLowerCase()
  } catch {
    return undefined
  }
}

/** The prefix of an address in its canonical spelling: `cosmos` of `cosmos1…`. */
export const prefixOf = (address: string): string => address.slice(0, address.lastIndexOf('1'))

/**
 * The address under `prefix` of whoever has the key: RIPEMD-160 of SHA-256 of the compressed key, or as Ethereum makes
 * it (the last 20 bytes of the Keccak-256 hash of the uncompressed one), by the key's type.
 */
export const addressOf = (publicKey: PublicKey, prefix: string): string =>
  toBech32(prefix, makers[publicKey.type](publicKey.bytes), MAX_LENGTH)

const makers: Record<PublicKey['type'], (key: Uint8Array) => Uint8Array> = {
  secp256k1: rawSecp256k1PubkeyToRawAddress,
  ethsecp256k1(key) {
    const uncompressed = uncompressPublicKey(key)
    if (!uncompressed) throw new RangeError('A public key is a point of the curve')
    return Buffer.from(keccak256(uncompressed.subarray(1)).slice(-40), 'hex')
  },
}
