import { parseUnits } from './parse-units'

test.each([
  ['0.01', 6, 10_000n],
  ['1', 6, 1_000_000n],
  [' 1,5 ', 6, 1_500_000n],
  ['0.0100000000', 6, 10_000n],
  ['12', 0, 12n],
  ['0', 6, 0n],
  ['0.0000001', 6, undefined],
  ['1.5', 0, undefined],
  ['-1', 6, undefined],
  ['1e3', 6, undefined],
  ['1,000.5', 6, undefined],
  ['.5', 6, undefined],
  ['', 6, undefined],
])('%j with %d decimals is %s', (text, decimals, amount) => {
  expect(parseUnits(text, decimals)).toBe(amount)
})
