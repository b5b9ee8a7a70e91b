import { createHash } from 'node:crypto'
import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { AbciError, sdkError } from './errors'

const PREFIX = 'cosmos'

const MOST_CHARACTERS = 1023
const MOST_BYTES = 255

/**
 * Returns the address in lower case. Like the SDK's address codec, throws a logic error (35) for another prefix and an internal
 * error (1) for anything else.
 */
export function readAddress(text: string): string {
  const { prefix, data } = decode(text)
  if (prefix !== PREFIX)
    throw sdkError(
      'internal logic error',
      `hrp does not match bech32 prefix: expected '${PREFIX}' got '${prefix}'`,
    )
  if (data.length === 0 || data.length > MOST_BYTES)
    throw sdkError('unknown address', `address length must be between 1 and ${MOST_BYTES} bytes`)
  return addressOf(data)
}

export const addressOf = (bytes: Uint8Array) => toBech32(PREFIX, bytes, MOST_CHARACTERS)

export const bytesOf = (address: string) => fromBech32(address, MOST_CHARACTERS).data

/** The account that holds the coins of a module. */
export function moduleAddress(name: string): string {
  return addressOf(createHash('sha256').update(name).digest().subarray(0, 20))
}

function decode(text: string) {
  if (text.trim() === '') throw new AbciError('undefined', 1, 'empty address string is not allowed')
  try {
    return fromBech32(text, MOST_CHARACTERS)
  } catch {
    throw new AbciError('undefined', 1, `decoding bech32 failed: ${bech32Problem(text)}`)
  }
}

/** The messages of the SDK's decoder, but without the expected checksum. */
function bech32Problem(text: string): string {
  if (text.length < 8 || text.length > MOST_CHARACTERS) return `invalid bech32 string length ${text.length}`
  if (text !== text.toLowerCase() && text !== text.toUpperCase())
    return 'string not all lowercase or all uppercase'
  const separator = text.lastIndexOf('1')
  if (separator < 1 || separator + 7 > text.length) return `invalid separator index ${separator}`
  const other = /[^qpzry9x8gf2tvdw0s3jn54khce6mua7l]/.exec(text.slice(separator + 1).toLowerCase())
  return other ? `invalid character not part of charset: ${other[0].charCodeAt(0)}` : 'invalid checksum'
}
