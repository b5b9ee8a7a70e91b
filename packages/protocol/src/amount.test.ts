import fc from 'fast-check'
import { Amount, formatAmount } from './amount'

const MAX = 10n ** 78n - 1n
const isAmount = (value: unknown) => Amount.safeParse(value).success

const amount = fc.oneof(
  fc.bigInt({ min: 0n, max: MAX }),
  fc.bigInt({ min: 0n, max: 1_000n }),
  fc.integer({ min: 0, max: 77 }).map((digits) => 10n ** BigInt(digits)),
)

/** The specification of `Amount`, without its regular expression. */
function isCanonical(text: string): boolean {
  if (text.length === 0 || text.length > 78) return false
  try {
    const value = BigInt(text)
    return value >= 0n && value <= MAX && value.toString() === text
  } catch {
    return false
  }
}

describe('Amount', () => {
  test('accepts the canonical decimal form of every number up to 78 digits, unchanged', () => {
    fc.assert(fc.property(amount, (value) => expect(Amount.parse(value.toString())).toBe(value.toString())))
    for (const edge of [0n, 1n, 9n, 10n, 2n ** 256n - 1n, MAX]) expect(isAmount(edge.toString())).toBe(true)
    expect(isAmount((MAX + 1n).toString())).toBe(false)
  })

  test('rejects every other text', () => {
    const digits = fc.stringMatching(/^[0-9]{0,80}$/)
    const nearly = fc.stringMatching(/^[0-9+\-.,_eExXbBoOn \n\t\u00a0٣５]{0,12}$/)
    const otherDigits = fc.stringMatching(/^[1-9][0-9]{0,3}[٣５०𝟙²①][0-9]{0,3}$/u)
    const padded = fc
      .tuple(amount, fc.constantFrom(' ', '\n', '\t', '0', '+', '-', '\u200b', '\ufeff', ''), fc.boolean())
      .map(([value, more, isBefore]) => (isBefore ? `${more}${value}` : `${value}${more}`))
    fc.assert(
      fc.property(fc.oneof(digits, nearly, otherDigits, padded, fc.string({ unit: 'binary' })), (text) => {
        expect(isAmount(text)).toBe(isCanonical(text))
      }),
      { numRuns: 5_000 },
    )
  })

  test.each([
    ...['', ' ', '00', '01', '-0', '-1', '+5', '1.0', '1.', '.5', '1e4', '1E4', '0x10', '0b1', '0o7', '1n'],
    ...['1_000', '1,000', ' 10', '10 ', ' 10 ', '10\n', '\t10', '10\u0000', '10\u00a0', '\ufeff10', '1 0'],
    ...[
      'NaN',
      'Infinity',
      'null',
      'true',
      '1/1',
      '１０',
      '1０',
      '1٣',
      '٣',
      '१०',
      '𝟙𝟘',
      '①',
      '一',
      '5\u0301',
      '1\u200b0',
    ],
  ])('is not %j', (text) => {
    expect(isAmount(text)).toBe(false)
  })

  test.each([
    ...[0, 1, 10_000, -1, 1.5, 1e78, Number.MAX_SAFE_INTEGER + 1, NaN, 10n, true, null, undefined],
    ...[['1'], { amount: '1' }, new String('1'), Symbol('1')],
  ])('is nothing but a string: %p', (value) => {
    expect(isAmount(value)).toBe(false)
  })
})

describe('formatAmount', () => {
  test('preserves the value', () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 0, max: 36 }), (value, decimals) => {
        const [whole = '', fraction = ''] = formatAmount(value, decimals).split('.')
        expect(BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0'))).toBe(value)
      }),
    )
  })

  test('is canonical: no trailing zeros, no trailing point, no exponent', () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 0, max: 36 }), (value, decimals) => {
        expect(formatAmount(value, decimals)).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
      }),
    )
  })

  test.each([
    [10_000n, 6, '0.01'],
    [1n, 6, '0.000001'],
    [0n, 6, '0'],
    [1_000_000n, 6, '1'],
    [1_230_000n, 6, '1.23'],
    [5n, 0, '5'],
    [100n, 0, '100'],
    [10n ** 18n, 18, '1'],
  ])('of %d with %d decimals is %s', (value, decimals, text) => {
    expect(formatAmount(value, decimals)).toBe(text)
  })
})
