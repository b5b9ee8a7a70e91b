import { apiOf, refusalOf } from './shop-client'

test.each([
  [
    { code: 'NOT_FOUND', message: 'You have no such client key; GET /api/v1/clients lists yours' },
    'You have no such client key; `tollgate shop keys list` lists yours',
  ],
  ['<html>', 'The facilitator answered 404'],
])('a refusal names what the command line has', (body, message) => {
  expect(refusalOf({ status: 404, body }).message).toBe(message)
})

test.each([
  ['http://127.0.0.1:3000', 'http://127.0.0.1:3000/api/v1'],
  ['http://127.0.0.1:3000/', 'http://127.0.0.1:3000/api/v1'],
  ['http://127.0.0.1:3000/api/v1', 'http://127.0.0.1:3000/api/v1'],
  ['https://pay.example/facilitator/api/v1/', 'https://pay.example/facilitator/api/v1'],
])('the API of %s', (url, api) => expect(apiOf(url)).toBe(api))

test.each([
  [400, 2],
  [404, 1],
  [500, 1],
])('a refusal with %d ends with %d', (status, exitCode) => {
  expect(refusalOf({ status, body: { message: 'A message' } }).exitCode).toBe(exitCode)
})
