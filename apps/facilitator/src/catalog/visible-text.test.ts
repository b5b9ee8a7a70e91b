import { visibleObject, visibleText } from './visible-text'

const of = (from: number, to = from) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index))

test.each<[string, string[]]>([
  ['bidirectional embeddings and overrides', of(0x202a, 0x202e)],
  ['bidirectional isolates', of(0x2066, 0x2069)],
  ['bidirectional marks', [...of(0x200e, 0x200f), ...of(0x61c)]],
  ['zero-width characters', [...of(0x200b, 0x200d), ...of(0x2060), ...of(0xfeff), ...of(0xad)]],
  ['tags', of(0xe0000, 0xe007f)],
  ['variation selectors', [...of(0xfe00, 0xfe0f), ...of(0xe0100, 0xe01ef)]],
  [
    'invisible operators, fillers and annotations',
    [...of(0x2061, 0x2064), ...of(0x3164), ...of(0xfff9, 0xfffb)],
  ],
])('%s are left out', (_, characters) => {
  for (const character of characters) expect(visibleText(`a${character}b`)).toBe('ab')
})

test.each([...of(0, 0x1f), ...of(0x7f, 0x9f), ...of(0x2028, 0x2029), ...of(0xd800)])(
  'the control character %j becomes a space',
  (character) => {
    expect(visibleText(`a${character}b`)).toBe('a b')
  },
)

test.each(['Grüße, 天気, طقس, מזג', 'e\u0301', '☀ 🌦', ' a  b '])('%s stays as it is', (text) => {
  expect(visibleText(text)).toBe(text)
})

test('an object is visible at every level, and has no member with a hidden name', () => {
  const hidden = '\u202e\u{e0041}'
  expect(
    visibleObject({
      [`name${hidden}`]: 1,
      [`__proto__${hidden}`]: { isAdmin: true },
      list: [`a${hidden}`, 1, null, true, { deep: `b${hidden}`, [hidden]: 1 }],
    }),
  ).toEqual({ list: ['a', 1, null, true, { deep: 'b' }] })
})
