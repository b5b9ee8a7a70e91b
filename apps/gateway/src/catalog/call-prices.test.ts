import { pricePerCredit } from './call-prices'
import { type Plan } from './catalog'

const plan = {} as Plan

test.each([
  [10_000n, 6, 100, '0.0001'],
  [1n, 0, 1, '1'],
  [3n, 0, 2, '1.5'],
  [1n, 18, 1_000_000_000, '0.000000000000000000000000001'],
  [10n, 0, 3, '3.333333333333333334'],
  [120_000_000n, 6, 1, '120'],
])('%i with %i decimals for %i credits is %s each', (amount, decimals, credits, price) => {
  expect(pricePerCredit({ ...plan, amount, decimals, credits })).toBe(price)
})
