import { families } from '@tollgate/chains'
import { ApiError } from '@tollgate/service'

/** The canonical spelling of a wallet of any family; anything else is the caller's mistake. */
export function parseWallet(text: string): string {
  for (const family of Object.values(families)) {
    const wallet = family.parseAddress(text)
    if (wallet !== undefined) return wallet
  }
  throw new ApiError('INVALID_REQUEST', 'The address is no wallet of an ecosystem that is served here')
}
