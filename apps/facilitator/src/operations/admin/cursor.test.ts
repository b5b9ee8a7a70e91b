import { decodeCursor, encodeCursor } from './cursor'

test('a cursor has the key that it was made of', () => {
  expect(decodeCursor(encodeCursor(1_768_478_400_123, 7n), 2)).toEqual([1_768_478_400_123n, 7n])
  expect(decodeCursor(encodeCursor(0n), 1)).toEqual([0n])
})

const encoded = (text: string) => Buffer.from(text).toString('base64url')

test.each([
  'x',
  encodeCursor(1n, 2n),
  encoded('-1'),
  encoded('1.5'),
  encoded('1e3'),
  encoded('01'),
  encoded(''),
  encoded('9'.repeat(16)),
  encoded('１'),
])('%s is refused', (cursor) => {
  expect(() => decodeCursor(cursor, 1)).toThrow(/^cursor: /)
})
