import { getAddress } from 'ethers'

const address = /^0x[0-9a-f]{40}$/i

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/** The EIP-55 spelling of an address in any letter case; undefined where `text` is none. */
export const parseAddress = (text: string): string | undefined =>
  address.test(text) ? getAddress(text.toLowerCase()) : undefined

export const sameAddress = (one: string, other: string): boolean =>
  address.test(one) && one.toLowerCase() === other.toLowerCase()
