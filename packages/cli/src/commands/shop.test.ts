import { UsageError } from '../exit-codes'
import { parseClientKey } from './shop'

test('the terms of a client key', () => {
  const options = {
    scope: 'verify',
    ttlHours: '0.5',
    payTo: ['0x1'],
    maxFeesPerDay: '1000',
    maxPaymentsPerMinute: '60',
  }
  expect(parseClientKey('Weather shop', options)).toEqual({
    title: 'Weather shop',
    scope: 'verify',
    ttl_hours: 0.5,
    pay_to: ['0x1'],
    max_fees_per_day: '1000',
    max_payments_per_minute: 60,
  })
  expect(parseClientKey('Weather shop', {})).toEqual({ title: 'Weather shop' })
})

test.each([
  { ttlHours: '0' },
  { ttlHours: 'a day' },
  { maxFeesPerDay: '0.1' },
  { maxPaymentsPerMinute: '0' },
])('%j is wrong usage', (options) => {
  expect(() => parseClientKey('Weather shop', options)).toThrow(UsageError)
})
