import { type UsageTotal } from '../data'
import { lastDays, usageBars } from './usage-bars'

const total = (day: string, chain_id: string, rpc_method: string | null, calls: number): UsageTotal => ({
  period: `${day}T00:00:00.000Z`,
  chain_id,
  rpc_method,
  calls,
  credits: 2 * calls,
  failed: 0,
})
const labels = { others: 'others', noMethod: 'REST' }
const periods = ['2026-11-01', '2026-11-02', '2026-11-03']

test('periods without calls have a bar', () => {
  const { bars, series } = usageBars([total('2026-11-02', '84532', 'eth_call', 3)], {
    measure: 'credits',
    split: 'chain',
    periods,
    labels,
  })
  expect(bars).toEqual([{ period: '2026-11-01' }, { period: '2026-11-02', s0: 6 }, { period: '2026-11-03' }])
  expect(series).toMatchObject([{ name: 's0', label: '84532' }])
})

test('the six largest have a series each, and the others share one', () => {
  const totals = Array.from({ length: 9 }, (_, at) => total('2026-11-01', '1', `m.${at}`, at + 1))
  const { bars, series } = usageBars(totals, { measure: 'calls', split: 'method', periods, labels })
  expect(series.map(({ label }) => label)).toEqual(['m.8', 'm.7', 'm.6', 'm.5', 'm.4', 'm.3', 'others'])
  expect(bars[0]).toEqual({ period: '2026-11-01', s0: 9, s1: 8, s2: 7, s3: 6, s4: 5, s5: 4, others: 6 })
})

test('calls without a method are REST calls', () => {
  const { series } = usageBars([total('2026-11-01', '1', null, 1)], {
    measure: 'calls',
    split: 'method',
    periods,
    labels,
  })
  expect(series.map(({ label }) => label)).toEqual(['REST'])
})

test('days are of UTC, also across the end of a month', () => {
  expect(lastDays(3, new Date('2026-03-01T00:30:00Z'))).toEqual(['2026-02-27', '2026-02-28', '2026-03-01'])
})
