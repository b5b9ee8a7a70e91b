import { TollgateError } from '@tollgate/wallet'
import { failureOf, ToolError } from './failure'
import { PrivateAddressError } from './outbound-guard'

describe('failureOf', () => {
  test('has the code, the advice and the details of an error of the SDK', () => {
    const error = new TollgateError('LIMIT_REACHED', 'Too much.', {
      details: { amount: 5n, code: undefined },
    })
    expect(failureOf(error)).toEqual({
      code: 'LIMIT_REACHED',
      message: 'Too much',
      advice: error.advice,
      details: { amount: '5' },
    })
  })

  test('names tools where the gateway names its routes', () => {
    const error = new TollgateError('GATEWAY_ERROR', 'No provider serves this chain; see GET /providers')
    expect(failureOf(error).message).toBe('No provider serves this chain; see list_chains')
    const unpaid = 'No credits left; pay 0.01 USDC and send the signed payment in X-PAYMENT'
    expect(failureOf(new TollgateError('PAYMENT_REFUSED', unpaid)).message).toBe('No credits left')
  })

  test('finds the refusal of a private address among causes', () => {
    const cause = new TypeError('fetch failed', { cause: new PrivateAddressError('x is private') })
    expect(failureOf(new TollgateError('UNREACHABLE', 'away', { cause }))).toMatchObject({
      code: 'PRIVATE_ADDRESS',
      message: 'x is private',
    })
  })

  test('says nothing of an unexpected error but its name', () => {
    const failure = failureOf(new RangeError('the key is 0xsecret'))
    expect(failure).toMatchObject({ code: 'INTERNAL', message: 'The call failed (RangeError)' })
    expect(JSON.stringify(failure)).not.toContain('secret')
  })

  test('bounds the texts and details that others choose', () => {
    const long = 'x'.repeat(100_000)
    const error = new TollgateError('PAYMENT_REFUSED', long, { details: { reason: long } })
    expect(JSON.stringify(failureOf(error)).length).toBeLessThan(10_000)
  })

  test('returns the failure of a tool as it is', () => {
    const error = new ToolError('A', 'b', 'c')
    expect(failureOf(error)).toEqual({ code: 'A', message: 'b', advice: 'c', details: {} })
  })

  test('bounds what a tool takes from others, too', () => {
    const long = 'x'.repeat(100_000)
    expect(JSON.stringify(failureOf(new ToolError('A', long, long, { long }))).length).toBeLessThan(20_000)
  })

  test('has no characters that could rewrite a terminal', () => {
    const hostile = 'a\u001B[2J\u009B31m\u202Eb'
    const failure = failureOf(new ToolError('A', hostile, hostile, { answer: hostile }))
    expect(failure).toEqual({
      code: 'A',
      message: 'a[2J31mb',
      advice: 'a[2J31mb',
      details: { answer: 'a[2J31mb' },
    })
  })
})
