import { type UsageRecord } from '@tollgate/wallet'
import { changesBetween, type Account } from './account-changes'

const call = (id: number, outcome = 'answered') => ({ id, outcome }) as UsageRecord
const reserved = (id: number) => call(id, 'reserved')
const account = (credits: Record<number, number>, calls: UsageRecord[]): Account => ({
  balances: Object.entries(credits).map(([plan, left]) => ({
    pricing_plan_id: Number(plan),
    remaining_credits: left,
  })),
  calls,
})

test.each<[string, Account | undefined, Account, unknown[]]>([
  [
    'at first: the balances',
    undefined,
    account({ 1: 5 }, [call(7)]),
    [{ event: 'credits', plan_id: 1, credits: 5, before: null }],
  ],
  ['nothing new', account({ 1: 5 }, [call(7)]), account({ 1: 5 }, [call(7)]), []],
  [
    'calls, the oldest first, then what they cost',
    account({ 1: 5, 2: 3 }, [call(7), call(6)]),
    account({ 1: 3, 2: 3 }, [call(9), call(8), call(7)]),
    [
      { event: 'call', call: call(8) },
      { event: 'call', call: call(9) },
      { event: 'credits', plan_id: 1, credits: 3, before: 5 },
    ],
  ],
  [
    'calls when they end',
    account({}, [reserved(9), call(8), reserved(7)]),
    account({}, [reserved(10), call(9), call(8), call(7)]),
    [
      { event: 'call', call: call(7) },
      { event: 'call', call: call(9) },
    ],
  ],
  ['the first call', account({}, []), account({}, [call(1)]), [{ event: 'call', call: call(1) }]],
])('%s', (_, before, now, changes) => {
  expect(changesBetween(before, now)).toEqual(changes)
})
