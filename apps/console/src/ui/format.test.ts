import { exactUnits, formatUnits, readableUnits, relativeTime, shortDay, shortened } from './format'

test.each([
  ['10000', 6, '0.01'],
  ['1234500', 6, '1.2345'],
  ['0', 6, '0'],
  ['1', 18, '0.000000000000000001'],
  ['123456789012345678901234567890', 6, '123456789012345678901234.56789'],
  ['5', 0, '5'],
  ['-1500', 3, '-1.5'],
])('%s with %d decimals is exactly %s', (amount, decimals, exact) => {
  expect(formatUnits(BigInt(amount), decimals)).toBe(exact)
})

test.each([
  ['10000', 6, 'en', '0.01'],
  ['1234567', 6, 'en', '1.23457'],
  ['1234567', 6, 'de', '1,23457'],
  ['9007199254740993000000', 6, 'en', '9,007,199,254,740,993'],
  ['1', 18, 'en', '0.000000000000000001'],
  ['1234567891234', 6, 'en', '1,234,567.89'],
])('%s with %d decimals reads in %s as %s', (amount, decimals, locale, text) => {
  expect(readableUnits(BigInt(amount), decimals, locale)).toBe(text)
})

test.each([
  ['1234567', 6, 'en', '1.234567'],
  ['1234567', 6, 'de', '1,234567'],
  ['1234567891234', 6, 'de', '1.234.567,891234'],
  ['1', 18, 'en', '0.000000000000000001'],
  ['9007199254740993000001', 6, 'en', '9,007,199,254,740,993.000001'],
  ['1', 77, 'en', `0.${'0'.repeat(76)}1`],
  ['-1500', 3, 'de', '-1,5'],
  ['-500', 3, 'de', '-0,5'],
  ['1', 6, 'ar-EG', '٠٫٠٠٠٠٠١'],
])('%s with %d decimals is in %s exactly %s', (amount, decimals, locale, text) => {
  expect(exactUnits(BigInt(amount), decimals, locale)).toBe(text)
})

test.each([
  [-30, '30 seconds ago'],
  [-60, '1 minute ago'],
  [-7_300, '2 hours ago'],
  [86_400, 'tomorrow'],
  [-86_400 * 400, '1 year ago'],
  [86_400 * 30, 'in 1 month'],
  [86_400 * 7 - 1, 'in 7 days'],
  [-86_400 * 7 + 1, '6 days ago'],
])('%d seconds from now reads %s', (seconds, text) => {
  const now = new Date('2026-01-01T00:00:00Z')
  expect(relativeTime(new Date(now.getTime() + seconds * 1000), now, 'en')).toBe(text)
})

test('shortens what is longer than its short form', () => {
  expect(shortened('0x036CbD53842c5426634e7929541eC2318f3dCF7e')).toBe('0x036CbD…3dCF7e')
  expect(shortened('abc')).toBe('abc')
})

test.each([
  ['2026-02-28', 'en', 'Feb 28'],
  ['2026-03-01', 'de', '1. März'],
])('the day %s is written as in %s', (day, locale, text) => expect(shortDay(day, locale)).toBe(text))
