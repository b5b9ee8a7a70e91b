import { TollgateError, type ErrorCode } from '../errors'
import { asProviderError, isRefusal } from './provider-error'

test.each<[ErrorCode, Record<string, unknown>, boolean]>([
  ['LIMIT_NOT_SET', {}, true],
  ['LIMIT_REACHED', {}, true],
  ['PAYMENT_REFUSED', {}, true],
  ['PAYMENT_NOT_APPROVED', {}, true],
  ['PAYMENT_UNKNOWN', {}, true],
  ['SIGNATURE_REFUSED', {}, true],
  ['CLOSED', {}, true],
  ['GATEWAY_ERROR', { status: 404 }, true],
  ['GATEWAY_ERROR', { status: 503 }, false],
  ['GATEWAY_ERROR', { status: 429 }, false],
  ['UNREACHABLE', {}, false],
  ['PAYMENT_PENDING', {}, false],
  ['TIMEOUT', {}, false],
])('%s %j is a refusal: %p', (code, details, expected) => {
  expect(isRefusal(new TollgateError(code, 'x', { details }))).toBe(expected)
})

test('an error of a node or a program is no refusal', () => {
  expect([new Error('x'), { code: 'LIMIT_REACHED' }, undefined].map(isRefusal)).toEqual([false, false, false])
})

test.each<[ErrorCode, number]>([
  ['SIGNATURE_REFUSED', 4001],
  ['LIMIT_REACHED', 4100],
  ['PAYMENT_PENDING', -32002],
  ['UNREACHABLE', 4900],
])('%s is %i of EIP-1193, with its cause', (code, expected) => {
  const error = new TollgateError(code, 'why', { details: { amount: 5n } })
  const provider = asProviderError(error)
  expect(provider).toMatchObject({ code: expected, message: 'why', data: { code }, cause: error })
  // As ethers' BrowserProvider does.
  expect(() => JSON.stringify(provider)).not.toThrow()
})
