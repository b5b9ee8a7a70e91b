import fc from 'fast-check'

export const hostileTexts: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    ...[
      '',
      ' ',
      '0',
      '-1',
      '-0',
      '+5',
      '1e4',
      '1.0',
      '0x10',
      ' 10 ',
      'NaN',
      'Infinity',
      'null',
      '[object Object]',
    ],
    ...[
      '\uff11\uff12\uff13',
      '\u0663',
      '9'.repeat(78),
      '9'.repeat(400),
      `1${'0'.repeat(80)}`,
      '1'.repeat(17),
      '2147483648',
      '9007199254740993',
    ],
    ...[
      '\u0000',
      'a\u0000b',
      '\ud800',
      '\udc00\ud800',
      'e\u0301',
      '\u202e',
      '\r\nSet-Cookie: a=b',
      '\n',
      '\ufeff',
    ],
    ...['\u0430dmin', 'admi\u0578', '\u200badmin', 'adm\u0131n', '!!!!', 'bm90IEpTT04=', 'e30', '=', 'e30='],
    ...[
      '../..',
      '//evil.example',
      '@evil.example',
      'http://evil.example/',
      '%2e%2e/',
      '\\..\\',
      '%',
      '%00',
      '%ff',
      '?',
      '#',
    ],
    ...[
      "' OR 1=1 --",
      '${x}',
      '{{x}}',
      '<script>',
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '*',
    ],
    ...[
      'eth_sendRawTransaction',
      'x'.repeat(129),
      'x'.repeat(5_000),
      `0x${'0'.repeat(40)}`,
      `0x${'f'.repeat(41)}`,
    ],
  ),
)

const hostileValues: fc.Arbitrary<unknown> = fc.oneof(
  hostileTexts,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(0, -0, -1, 1.5, 1e308, 2 ** 31, 2 ** 31 - 1, 2 ** 53, 2 ** 53 + 2, -(2 ** 63)),
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    [],
    {},
    [[]],
    [null],
    { length: 1 },
    { toString: 1 },
    { toJSON: 'x' },
  ),
)

/** The path of every replaceable place in a value. */
function placesIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, member]) => placesIn(member, [...path, name]))]
}

function replaced(value: unknown, [name, ...rest]: string[], by: (before: unknown) => unknown): unknown {
  if (name === undefined) return by(value)
  const copy: Record<string, unknown> = Object.assign(Array.isArray(value) ? [] : {}, value)
  const member = replaced(copy[name], rest, by)
  if (member === undefined) Reflect.deleteProperty(copy, name)
  else copy[name] = member
  return copy
}

/** Built once: building a text arbitrary takes longer than drawing from it. */
const replacements = fc.oneof(
  { weight: 4, arbitrary: hostileValues.map((by) => (): unknown => by) },
  { weight: 1, arbitrary: fc.constant((): unknown => undefined) },
  { weight: 1, arbitrary: fc.constant((before: unknown): unknown => [before]) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.string({ minLength: 1, maxLength: 8 }), hostileValues).map(
      ([name, by]) =>
        (before: unknown): unknown =>
          isObject(before) ? { ...before, [name]: by } : { [name]: before },
    ),
  },
)

/**
 * The value with one error: another value, a missing member, an additional member, or one more layer of
 * nesting.
 */
export const spoiled = (value: unknown): fc.Arbitrary<unknown> =>
  fc
    .tuple(fc.constantFrom(...placesIn(value)), replacements)
    .map(([place, by]) => replaced(value, place, by) ?? null)

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

type Edit = (text: string) => string

const another =
  (found: RegExp, by: string): Edit =>
  (text) =>
    text.replace(found, by)

const edits = fc.constantFrom<Edit>(
  another(/^\{("(?:[^"\\]|\\.)*"):/, '{$1:null,$1:'),
  another(/^\{/, '{"__proto__":{"admin":true},'),
  another(/^\{/, '{"constructor":{"prototype":{}},'),
  another(/^\{/, '{"\\u005f_proto__":1,'),
  another(/:"[^"]*"/, ':1e400'),
  another(/:"[^"]*"/, ':123456789012345678901234567890'),
  another(/:"[^"]*"/, ':9007199254740993'),
  another(/:-?[0-9][0-9.]*(?=[,}\]])/, ':9007199254740993'),
  another(/:"[^"]*"/, ':"\\ud800"'),
  another(/:"[^"]*"/, ':"\\u0000"'),
  another(/:"[^"]*"/, ':-0.0e-0'),
  another(/:\{/, `:{"x":${deep(60)},`),
  another(/:\{/, `:{"x":${deep(10_000)},`),
  ...[
    (text: string) => '\ufeff' + text,
    (text: string) => text + '\u0000',
    (text: string) => text + text,
    (text: string) => `[${text}]`,
    (text: string) => `// x\n${text}`,
    (text: string) => text.replaceAll('"', "'"),
  ],
  ...[deep(10_000), '{"a":'.repeat(5_000)].map((whole) => () => whole),
  ...['', ' ', 'null', '1', '""', '[]', '{}', 'true', 'NaN', "{'a':1}"].map((whole) => () => whole),
)

const insertions = fc.string({ unit: 'binary', minLength: 1, maxLength: 3 })

/** The text of a body with an error that only the text shows. */
export const spoiledText = (text: string): fc.Arbitrary<string> =>
  fc.oneof(
    edits.map((edit) => edit(text)),
    fc.nat({ max: text.length }).map((end) => text.slice(0, end)),
    fc
      .tuple(fc.nat({ max: text.length }), insertions)
      .map(([at, inserted]) => text.slice(0, at) + inserted + text.slice(at)),
  )
