import { isSettlementId, readFilters, searchNameOf, toQuery, withSearch, writeFilters } from './filters'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

test.each([
  [`0x${'ab'.repeat(32)}`, 'transaction'],
  ['AB'.repeat(32), 'transaction'],
  [ADDRESS, 'payer'],
  ['cosmos1kklh64uq03ult2wmua8pcgq25kyu3nwvqekrxk', 'payer'],
  ['client_5f0c9a4e1b7d2f3a6c8e9b01', 'clientId'],
  ['https://shop.example/weather', 'resource'],
  ['/weather', 'resource'],
  ['pay_7d5d747be160e280504c099d984bcfe0', 'paymentIdentifier'],
])('%s is searched as %s', (text, name) => {
  expect(searchNameOf(text)).toBe(name)
})

test.each([
  ['42', true],
  ['1234567890123456', false],
  ['0x42', false],
])('whether %s is the number of a settlement: %s', (text, is) => {
  expect(isSettlementId(text)).toBe(is)
})

test.each([
  ['state=failed&network=base', { state: 'failed', network: 'base' }],
  ['state=lost&from=yesterday&other=1', {}],
  ['from=2026-01-31&payer=', { from: '2026-01-31' }],
  ['from=2026-02-30&to=2026-13-01', {}],
])('the address %s has the filters %j', (search, filters) => {
  expect(readFilters(search)).toEqual(filters)
})

test('filters come back from the address as they were', () => {
  const filters = { state: 'failed', resource: 'https://shop.example/?a=1&b=ü' }
  expect(readFilters(writeFilters({ ...filters, network: '' }))).toEqual(filters)
})

test('a search replaces the one before, and keeps the other filters', () => {
  const filters = { state: 'failed', payer: ADDRESS }
  expect(withSearch(filters, { name: 'transaction', text: '0xab' })).toEqual({
    state: 'failed',
    transaction: '0xab',
  })
  expect(withSearch(filters, undefined)).toEqual({ state: 'failed' })
})

test('days are asked for as the reader has them, to their last moment', () => {
  expect(toQuery({ state: 'failed', from: '2026-01-31', to: '2026-02-01' })).toEqual({
    state: 'failed',
    from: new Date(2026, 0, 31).toISOString(),
    to: new Date(new Date(2026, 1, 2).getTime() - 1).toISOString(),
  })
  expect(toQuery({})).toEqual({})
})
