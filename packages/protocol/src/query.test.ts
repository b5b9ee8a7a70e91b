import fc from 'fast-check'
import { count, Day } from './query'

describe('count', () => {
  const small = count(1, 100)

  test('accepts only the canonical decimal form of a number within its bounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: -10, max: 300 }), (value) => {
        expect(small.safeParse(String(value))).toMatchObject(
          value >= 1 && value <= 100 ? { success: true, data: value } : { success: false },
        )
      }),
    )
  })

  test.each([
    '',
    ' 5',
    '5 ',
    '05',
    '+5',
    '-5',
    '5.0',
    '5e0',
    '0x5',
    '٥',
    '５',
    'NaN',
    'Infinity',
    '1e9',
    '9'.repeat(40),
  ])('is not %j', (text) => expect(small.safeParse(text).success).toBe(false))

  test.each([[['5', '6']], [{ a: '5' }], [5], [null], [undefined]])(
    'rejects %j, which is not a string',
    (value) => {
      expect(small.safeParse(value).success).toBe(false)
    },
  )
})

describe('Day', () => {
  const isDay = (value: unknown) => Day.safeParse(value).success

  test('accepts every calendar day as YYYY-MM-DD in UTC, and no other text', () => {
    const days = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    fc.assert(fc.property(days, (date) => expect(isDay(date.toISOString().slice(0, 10))).toBe(true)))
    for (const leap of ['2024-02-29', '2000-02-29']) expect(isDay(leap)).toBe(true)
  })

  test.each([
    '0000-01-01',
    '2023-02-29',
    '1900-02-29',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-1-1',
    '26-01-01',
    '+002026-01-01',
    '2026-01-01T00:00:00Z',
    '2026-01',
    '20260101',
    ' 2026-01-01',
    '2026-01-01\n',
    '２０２６-01-01',
    '',
  ])('is not %j', (text) => expect(isDay(text)).toBe(false))
})
