import { fromCursor, toCursor } from './cursor'

test('a cursor returns the position that it was made of', () => {
  const position = { claimedAt: new Date('2026-11-25T10:00:00.123Z'), id: 9_007_199_254_740_993n }
  expect(fromCursor(toCursor(position))).toEqual(position)
})

const cursorOf = (text: string) => Buffer.from(text).toString('base64url')

test.each(['', 'x', cursorOf('1'), cursorOf('1.'), cursorOf('.1'), cursorOf('1.-1'), cursorOf('1.1;')])(
  'the cursor %j is refused',
  (cursor) => {
    expect(() => fromCursor(cursor)).toThrow('cursor: must be')
  },
)

test.each([cursorOf('99999999999999.1'), cursorOf('1.9999999999999999999')])(
  'the cursor %j, which Postgres cannot compare, is refused',
  (cursor) => {
    expect(() => fromCursor(cursor)).toThrow('cursor: must be')
  },
)
