import { families } from '@tollgate/chains'
import { WalletAddress } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'

/** Returns the canonical spelling. @throws ApiError INVALID_REQUEST */
export function parseWallet(text: string): string {
  for (const family of WalletAddress.safeParse(text).success ? Object.values(families) : []) {
    const wallet = family.parseAddress(text)
    if (wallet !== undefined) return wallet
  }
  throw new ApiError('INVALID_REQUEST', 'The address is no wallet of an ecosystem that is served here')
}
