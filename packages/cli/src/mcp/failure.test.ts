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
})
