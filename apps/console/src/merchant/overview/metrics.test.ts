import { countsOf, daysBefore, failuresOf, incomeBars, shownShare, totalsOf } from './metrics'

const usdc = { asset: '0xUSDC', symbol: 'USDC', decimals: 6 }
const base = (amount: string, settled = 1) => ({ network: 'base', ...usdc, settled, amount })
const polygon = (amount: string, settled = 1) => ({ network: 'polygon', ...usdc, settled, amount })
const now = new Date('2026-03-01T00:30:00Z')

test.each([
  [0, '2026-03-01'],
  [1, '2026-02-28'],
  [29, '2026-01-31'],
])('%d days before, in UTC, is %s', (days, day) => {
  expect(daysBefore(now, days)).toBe(day)
})

test('totals are exact beyond the numbers of JavaScript, by network and asset', () => {
  const days = [{ amounts: [base('9007199254740993'), polygon('1', 5)] }, { amounts: [base('1')] }]
  expect(totalsOf(days)).toEqual([polygon('1', 5), base('9007199254740994', 2)])
})

test('failures are counted by reason, the most frequent first', () => {
  const days = [
    { failures: [{ reason: 'insufficient_funds', failed: 1 }] },
    {
      failures: [
        { reason: 'payment_expired', failed: 3 },
        { reason: 'insufficient_funds', failed: 1 },
      ],
    },
  ]
  expect(failuresOf(days)).toEqual([
    { reason: 'payment_expired', failed: 3 },
    { reason: 'insufficient_funds', failed: 2 },
  ])
})

test('days add up', () => {
  expect(
    countsOf([
      { settled: 1, failed: 2, reversed: 0 },
      { settled: 3, failed: 0, reversed: 1 },
    ]),
  ).toEqual({
    settled: 4,
    failed: 2,
    reversed: 1,
  })
})

test('each day has a bar, with the amounts of the symbol by network', () => {
  const days = [
    { day: '2026-02-28', amounts: [base('1500000'), polygon('10'), { ...base('7'), symbol: 'EURC' }] },
  ]
  expect(incomeBars(days, { symbol: 'USDC', count: 3, now })).toEqual({
    bars: [
      { period: '2026-02-27' },
      { period: '2026-02-28', base: 1.5, polygon: 0.00001 },
      { period: '2026-03-01' },
    ],
    networks: ['base', 'polygon'],
  })
})

test.each([
  [9_996, 10_000, 0.999],
  [10_000, 10_000, 1],
  [1, 100_000, 0.001],
  [0, 5, 0],
  [2, 3, 0.667],
])('%d of %d is shown as %d', (part, whole, share) => {
  expect(shownShare(part, whole)).toBe(share)
})
