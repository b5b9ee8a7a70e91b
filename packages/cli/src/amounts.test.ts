import { formatAmount, networkOf, parseAmount, priceOf } from './amounts'
import { testPlan } from './testing/plan'

describe('an amount in units is smallest units, exactly:', () => {
  test.each<[string, number, bigint]>([
    ['0.05', 6, 50_000n],
    ['0', 6, 0n],
    ['1', 6, 1_000_000n],
    ['007', 6, 7_000_000n],
    ['0.000001', 6, 1n],
    ['0.0000010', 6, 1n],
    ['5', 0, 5n],
    ['0.1', 18, 100_000_000_000_000_000n],
    ['9007199254740993.000000000000000001', 18, 9_007_199_254_740_993_000_000_000_000_000_001n],
  ])('%s with %d decimals', (text, decimals, units) => {
    expect(parseAmount(text, decimals)).toBe(units)
    expect(parseAmount(formatAmount(units, decimals), decimals)).toBe(units)
  })
})

test.each<[string, number]>([
  ['', 6],
  ['0.0000001', 6],
  ['0.5', 0],
  ['-1', 6],
  ['+1', 6],
  ['1e3', 6],
  ['.5', 6],
  ['5.', 6],
  ['1,5', 6],
  ['1 000', 6],
  ['0x10', 6],
  ['1'.repeat(61), 6],
])('%j with %d decimals is no amount', (text, decimals) => {
  expect(parseAmount(text, decimals)).toBeUndefined()
})

test.each<[bigint, number, string]>([
  [50_000n, 6, '0.05'],
  [0n, 6, '0'],
  [1_000_000n, 6, '1'],
  [1n, 18, '0.000000000000000001'],
  [5n, 0, '5'],
])('%s with %d decimals is shown as %s', (units, decimals, text) => {
  expect(formatAmount(units, decimals)).toBe(text)
})

test('a plan has a price and a network', () => {
  expect(priceOf(testPlan())).toBe('0.01 USDC')
  expect(networkOf(testPlan())).toBe('eip155:84532')
  expect(networkOf(testPlan({ ecosystem: 'cosmos', chain_id: 'cosmoshub-4' }))).toBe('cosmos:cosmoshub-4')
})
