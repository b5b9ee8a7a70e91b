import { UsageError } from '../exit-codes'
import { parseClientKey } from './shop'

const PAY_TO = ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', 'cosmos194au5yyx8ft6kcr99stg7rspud2y2pc3qhj5c4']

test('the terms of a client key', () => {
  const options = {
    scope: 'verify',
    ttlHours: '0.5',
    payTo: PAY_TO,
    maxFeesPerDay: '1000',
    maxPaymentsPerMinute: '60',
  }
  expect(parseClientKey('Weather shop', options)).toEqual({
    title: 'Weather shop',
    scope: 'verify',
    ttl_hours: 0.5,
    pay_to: PAY_TO,
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
  { payTo: [...PAY_TO, '0x12'] },
  { payTo: ['shop.example'] },
])('%j is wrong usage', (options) => {
  expect(() => parseClientKey('Weather shop', options)).toThrow(UsageError)
})
