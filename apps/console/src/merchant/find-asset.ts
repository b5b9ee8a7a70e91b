import { type Asset } from '@tollgate/protocol'

/** A resource may name its network by chain id; then only the asset decides. */
export const findAsset = (
  assets: readonly Asset[],
  { network, asset }: { network: string; asset: string },
): Asset | undefined => {
  const same = assets.filter((one) => one.asset.toLowerCase() === asset.toLowerCase())
  return same.find((one) => one.network === network) ?? (same.length === 1 ? same[0] : undefined)
}
