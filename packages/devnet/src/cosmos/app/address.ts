import { createHash } from 'node:crypto'
import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { sdkError } from './errors'

/** What every address of the chain begins with. */
export const PREFIX = 'cosmos'

const MOST_CHARACTERS = 1023
const MOST_BYTES = 255

/**
 * The address as the chain writes it, whatever letter case it came in. Another prefix is a logic error (35) and anything else internal (1),
 * as the address codec of the SDK has it.
 */
export function readAddress(text: string): string {
  const address = decode(text)
  if (!address) throw sdkError('internal', `decoding bech32 failed: ${JSON.stringify(text)}`)
  const { prefix, data } = address
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

/** The account that a module holds its coins in. */
export function moduleAddress(name: string): string {
  return addressOf(createHash('sha256').update(name).digest().subarray(0, 20))
}

function decode(text: string) {
  try {
    return fromBech32(text, MOST_CHARACTERS)
  } catch {
    return undefined
  }
}
