import { getAddress } from 'ethers'

const address = /^0x[0-9a-f]{40}$/i

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

const MAX_SPELLINGS = 10_000
/** A cache of EIP-55 spellings by lower case: each costs a hash. */
const spellings = new Map<string, string>()

function spell(lowerCase: string): string {
  const known = spellings.get(lowerCase)
  if (known !== undefined) return known
  if (spellings.size >= MAX_SPELLINGS) spellings.clear()
  const spelling = getAddress(lowerCase)
  spellings.set(lowerCase, spelling)
  return spelling
}

/** The EIP-55 spelling of an address in any letter case; undefined if `text` is not an address. */
export const parseAddress = (text: string): string | undefined =>
  address.test(text) ? spell(text.toLowerCase()) : undefined

export const sameAddress = (one: string, other: string): boolean =>
  address.test(one) && one.toLowerCase() === other.toLowerCase()
