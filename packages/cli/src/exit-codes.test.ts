import { TollgateError, type ErrorCode } from '@tollgate/wallet'
import { CommandError, failureOf, UsageError } from './exit-codes'

test.each<[ErrorCode, number]>([
  ['GATEWAY_ERROR', 1],
  ['RPC_ERROR', 1],
  ['PAYMENT_REFUSED', 1],
  ['STORAGE_FAILED', 1],
  ['INVALID_ARGUMENT', 2],
  ['LIMIT_NOT_SET', 3],
  ['LIMIT_REACHED', 3],
  ['NO_PAYABLE_OFFER', 3],
  ['TIMEOUT', 4],
  ['UNREACHABLE', 4],
  ['PAYMENT_DISPUTED', 5],
  ['PAYMENT_PENDING', 5],
  ['PAYMENT_UNKNOWN', 5],
  ['ABORTED', 130],
])('%s ends with %d', (code, exitCode) => {
  expect(failureOf(new TollgateError(code, 'A message'))).toMatchObject({
    code,
    exitCode,
    message: 'A message',
  })
})

test('wrong usage ends with 2, and what is not expected with 1', () => {
  expect(failureOf(new UsageError('A message'))).toMatchObject({ code: 'USAGE', exitCode: 2 })
  expect(failureOf(new Error('A message'))).toMatchObject({ code: 'INTERNAL', exitCode: 1 })
  expect(failureOf('thrown')).toMatchObject({ exitCode: 1 })
})

test('a refusal of the gateway names commands, and no advice that has nothing to do with it', () => {
  const refused = new TollgateError('GATEWAY_ERROR', 'No provider serves this chain; see GET /providers', {
    details: { status: 404 },
  })
  expect(failureOf(refused)).toMatchObject({
    message: 'No provider serves this chain; see `tollgate plans`',
    advice: '',
  })
  const failed = new TollgateError('GATEWAY_ERROR', 'A message', { details: { status: 502 } })
  expect(failureOf(failed).advice).toContain('later')
})

test.each<[string, string]>([
  ['There is no such key; see GET /keys', 'There is no such key; see `tollgate keys list`'],
  ['Unknown plan; see GET /pricing', 'Unknown plan; see `tollgate plans`'],
  ['The payment was refused; pay 1 USDC and send the signed payment in X-PAYMENT', 'The payment was refused'],
])('%s names a command', (message, expected) => {
  expect(failureOf(new TollgateError('GATEWAY_ERROR', message)).message).toBe(expected)
})

test.each([
  [400, 2],
  [404, 1],
  [502, 1],
])('a gateway that answers %d ends with %d', (status, exitCode) => {
  const error = new TollgateError('GATEWAY_ERROR', 'A message', { details: { status } })
  expect(failureOf(error).exitCode).toBe(exitCode)
})

test('a refusal of the program itself, when it approves a payment, is that failure', () => {
  const cause = new CommandError('ASSET_CHANGED', 'changed', 'advice', 2)
  expect(failureOf(new TollgateError('PAYMENT_NOT_APPROVED', 'not approved', { cause }))).toMatchObject({
    ...{ code: 'ASSET_CHANGED', message: 'changed', exitCode: 2 },
  })
})
