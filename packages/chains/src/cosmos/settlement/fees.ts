/** Gas prices have 18 decimals, like the SDK's own. */
const PRICE_UNIT = 10n ** 18n

/** The fee in the smallest unit, rounded up as a node does. `gasPrice` is in 10^-18 of the smallest unit. */
export const feeFor = (gas: bigint, gasPrice: bigint): bigint =>
  (gas * gasPrice + PRICE_UNIT - 1n) / PRICE_UNIT

/** Some versions of the SDK simulate up to 3 % less gas than the transaction uses. */
export const GAS_MARGIN_PERCENT = 5n

export const withGasMargin = (gasUsed: bigint): bigint =>
  gasUsed + (gasUsed * GAS_MARGIN_PERCENT + 99n) / 100n
