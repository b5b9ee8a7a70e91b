import fc from 'fast-check'
import { hasExactNumbers } from './numbers'

describe('hasExactNumbers', () => {
  test.each([
    '{"a":1,"b":[0,-0,0.0,1.50,1e3,1E+3,100e-2,-12.5e-1]}',
    '[9007199254740991,9007199254740992,1e21,100000000000000000000,0.1,5e-324,1.7976931348623157e308]',
    '[0e999999999999,"9007199254740993","\\"9007199254740993",{"9007199254740993":"\\\\"}]',
    '',
  ])('is true of %s', (json) => expect(hasExactNumbers(json)).toBe(true))

  test.each([
    '[9007199254740993]',
    '{"a":{"b":-9007199254740993}}',
    '[123456789012345678901234567890]',
    '[0.1234567890123456789]',
    '[1e400]',
    '[-1e400]',
    '[1e-400]',
    '[1.00000000000000000000000000001]',
    '["\\\\",9007199254740993]',
  ])('is false of %s', (json) => expect(hasExactNumbers(json)).toBe(false))

  test('is true for all output of JSON.stringify', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => hasExactNumbers(JSON.stringify(value))))
  })

  test('is true for exactly the integers that survive a round trip', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 69n), max: 2n ** 69n }),
        (integer) => hasExactNumbers(`[${integer}]`) === (BigInt(String(Number(integer))) === integer),
      ),
    )
  })

  test('is linear in the length of every text', () => {
    const startedAt = performance.now()
    for (const json of [
      `["${'\\\\'.repeat(120_000)}"]`,
      `[${'9'.repeat(250_000)}]`,
      `[0.1${'0'.repeat(250_000)}1]`,
      `[1e${'9'.repeat(250_000)}]`,
    ])
      hasExactNumbers(json)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})
