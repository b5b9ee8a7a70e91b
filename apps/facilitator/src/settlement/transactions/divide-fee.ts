export type FeeAllocation = { settlementId: bigint; fee: bigint }

/** Equal shares; the first settlements bear one unit more each until the sum is exact. */
export function divideFee(fee: bigint, settlementIds: readonly bigint[]): FeeAllocation[] {
  const count = BigInt(settlementIds.length)
  return settlementIds.map((settlementId, index) => ({
    settlementId,
    fee: fee / count + (BigInt(index) < fee % count ? 1n : 0n),
  }))
}
