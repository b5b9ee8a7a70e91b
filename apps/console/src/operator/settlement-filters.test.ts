import { readFilters, toQuery, wantedBy, withSearch, withState } from './settlement-filters'

const HASH = 'ab'.repeat(32)

test.each([
  ['', { state: 'open' }],
  ['state=stuck', { state: 'stuck' }],
  ['state=lost', { state: 'open' }],
  ['state=settled&endedWithinHours=24', { state: 'settled', endedWithinHours: '24' }],
  ['payer=0xa', { state: 'any', payer: '0xa' }],
  ['state=open&payer=0xa', { state: 'open' }],
  ['payer=0xa&from=soon&to=2026-13-01', { state: 'any', payer: '0xa' }],
  ['from=2026-01-31&to=12026-01-31', { state: 'any', from: '2026-01-31' }],
])('the address %s shows %j', (search, filters) => {
  expect(readFilters(new URLSearchParams(search))).toEqual(filters)
})

test.each([
  ['42', { id: '42' }],
  [`0x${HASH}`, { transaction: `0x${HASH}` }],
  [HASH.toUpperCase(), { transaction: HASH.toUpperCase() }],
  ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', { payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }],
])('%s is searched as %j', (text, wanted) => {
  expect(wantedBy(text)).toEqual(wanted)
})

test('a search shows any state, unless its own can be searched', () => {
  expect(withSearch({ state: 'stuck' }, { payer: '0xa' })).toEqual({ state: 'any', payer: '0xa' })
  expect(withSearch({ state: 'failed' }, { payer: '0xa' })).toEqual({ state: 'failed', payer: '0xa' })
  expect(withState({ state: 'any', payer: '0xa' }, 'settled')).toEqual({ state: 'settled', payer: '0xa' })
  expect(withState({ state: 'any', payer: '0xa' }, 'stuck')).toEqual({ state: 'stuck' })
})

test('days are those of the reader, to their last moment', () => {
  expect(toQuery({ state: 'any', from: '2026-01-31', to: '2026-01-31' })).toEqual({
    state: 'any',
    from: new Date(2026, 0, 31).toISOString(),
    to: new Date(new Date(2026, 1, 1).getTime() - 1).toISOString(),
  })
})
