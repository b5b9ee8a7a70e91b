import { parseUnits, writeUnits } from './parse-units'

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
  expect(parseUnits(text, decimals, 'en')).toBe(amount)
})

test.each([
  ['1,000', 'en', undefined],
  ['1.000', 'en', 1_000_000n],
  ['1.000', 'de', undefined],
  ['1,000', 'de', 1_000_000n],
  [' 250.125 ', 'de', undefined],
  ['1,000', 'fr', 1_000_000n],
  // There are no thousands of these.
  ['0.005', 'de', 5_000n],
  ['1234.567', 'de', 1_234_567_000n],
  ['1.0000', 'de', 1_000_000n],
])('%j as a reader of %s writes it is %s', (text, locale, amount) => {
  expect(parseUnits(text, 6, locale)).toBe(amount)
})

test.each(['en', 'de', 'de-CH', 'fr', 'es', 'ar-EG', 'hi'])(
  'an amount in a field of %s reads as it was',
  (locale) => {
    for (const amount of [1_125_000n, 10_000n, 1n, 250_125_000n, 1_000_000n])
      expect(parseUnits(writeUnits(amount, 6, locale), 6, locale)).toBe(amount)
  },
)
