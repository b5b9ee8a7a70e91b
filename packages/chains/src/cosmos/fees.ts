/** Gas prices have eighteen decimals, as the Cosmos SDK's decimals do. */
const PRICE_UNIT = 10n ** 18n

/**
 * What so much gas costs at a price in 10^-18 of the smallest unit, in the smallest unit: rounded up, as a node does when it
 * compares a fee with its minimum gas price.
 */
export const feeFor = (gas: bigint, gasPrice: bigint): bigint =>
  (gas * gasPrice + PRICE_UNIT - 1n) / PRICE_UNIT

/** Simulation of some versions of the Cosmos SDK finds up to 3 % less gas than a block takes. */
export const GAS_MARGIN_PERCENT = 5n

/** What a transaction must be allowed that took so much gas when it was simulated. */
export const withGasMargin = (simulated: bigint): bigint =>
  simulated + (simulated * GAS_MARGIN_PERCENT + 99n) / 100n
