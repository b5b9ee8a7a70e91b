import { knownAssets } from '@tollgate/wallet'

/** An asset whose decimals the program does not take from a gateway. */
export type KnownAsset = {
  /** As CAIP-2. */
  network: string
  /** The token's address, or the denomination. */
  asset: string
  /** Undefined for an asset that the user has named. */
  symbol?: string
  decimals: number
}

export const STABLECOINS: readonly KnownAsset[] = knownAssets
