import { bodyOf, indented } from './examples'

test('sends numbers as they are typed', () => {
  expect(bodyOf('a"b', ' [12345678901234567890, 1.10] ')).toBe(
    '{"jsonrpc":"2.0","id":1,"method":"a\\"b","params":[12345678901234567890, 1.10]}',
  )
  expect(bodyOf('a', ' ')).toBe('{"jsonrpc":"2.0","id":1,"method":"a","params":[]}')
})

test.each(['[1', '[1]],"id":2', '{"a":1}, "x"', 'x'])(
  'sends no parameters that are not JSON: %s',
  (params) => {
    expect(bodyOf('a', params)).toBeUndefined()
  },
)

test('indents an answer without changing a number or a text', () => {
  const text = String.raw`{"a":123456789012345678901234567890,"b":[1.10,-2E+3,{}, [ ],null],"c":"x, [\"y\"]: {\\","d":{"e":true}}`
  expect(indented(text)).toBe(
    String.raw`{
  "a": 123456789012345678901234567890,
  "b": [
    1.10,
    -2E+3,
    {},
    [],
    null
  ],
  "c": "x, [\"y\"]: {\\",
  "d": {
    "e": true
  }
}`,
  )
})

test.each(['<html>', '', '{"a":1'])('leaves what is not JSON: %s', (text) => {
  expect(indented(text)).toBe(text)
})
