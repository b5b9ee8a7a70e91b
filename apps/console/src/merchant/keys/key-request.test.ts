import { initialKey, toKeyRequest, validateKey } from './key-request'

test('a field without a value is not sent', () => {
  expect(toKeyRequest({ ...initialKey, title: ' Shop ' })).toEqual({
    title: 'Shop',
    scope: 'verify,settle,supported',
  })
})

test('limits are sent as the API has them', () => {
  const request = toKeyRequest({
    title: 'Shop',
    scopes: ['settlements', 'verify'],
    expires: 'month',
    payTo: '0xaa\n 0xbb, 0xcc\n',
    perMinute: ' 60',
    fees: ' 0100 ',
  })
  expect(request).toEqual({
    title: 'Shop',
    scope: 'verify,settlements',
    ttl_hours: 720,
    pay_to: ['0xaa', '0xbb', '0xcc'],
    max_payments_per_minute: 60,
    max_fees_per_day: '100',
  })
})

test('a key needs a name and a scope, and fees in digits', () => {
  expect([
    validateKey.title(' '),
    validateKey.scopes([]),
    validateKey.fees('1e18'),
    validateKey.perMinute('-1'),
  ]).not.toContain(null)
  expect([validateKey.title('a'), validateKey.scopes(['settle']), validateKey.fees('')]).toEqual([
    null,
    null,
    null,
  ])
})
