import { refusalOf } from './shop-client'

test.each([
  [
    { code: 'NOT_FOUND', message: 'You have no such client key; GET /api/v1/clients lists yours' },
    'You have no such client key; `tollgate shop keys list` lists yours',
  ],
  ['<html>', 'The facilitator answered 404'],
])('a refusal names what the command line has', (body, message) => {
  expect(refusalOf({ status: 404, body }).message).toBe(message)
})
