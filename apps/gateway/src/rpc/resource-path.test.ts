import fc from 'fast-check'
import { posix } from 'node:path'
import { resolveUrl } from './resource-path'

const bases = [
  'https://node.example',
  'https://node.example/v1',
  'https://node.example/',
  'https://node.example/v2/key',
  'https://node.example/v2/key/',
  'http://127.0.0.1:8545/v2/key?token=1',
]

test.each([
  ['', 'https://node.example/v2/key'],
  ['/', 'https://node.example/v2/key'],
  ['status', 'https://node.example/v2/key/status'],
  ['/status', 'https://node.example/v2/key/status'],
  ['a/b.c/d-e_f~g', 'https://node.example/v2/key/a/b.c/d-e_f~g'],
  ['a/', 'https://node.example/v2/key/a/'],
  ['status?height=5&x=%22y%22', 'https://node.example/v2/key/status?height=5&x=%22y%22'],
  ['?x=1', 'https://node.example/v2/key?x=1'],
  [
    'tx_search?query=%22tx.height%3E0%20AND%20message.action%3D%27%2Fcosmos.bank%27%22&page=1',
    'https://node.example/v2/key/tx_search?query=%22tx.height%3E0%20AND%20message.action%3D%27%2Fcosmos.bank%27%22&page=1',
  ],
  ['x?query="tx.height>0 AND a=1"', 'https://node.example/v2/key/x?query=%22tx.height%3E0%20AND%20a=1%22'],
  ['x?a=../..//b\\c@d:e?f', 'https://node.example/v2/key/x?a=../..//b\\c@d:e?f'],
  [
    'x?a=%23%26%40%5c%2f%2e%2e%09%ff%25%252e+b',
    'https://node.example/v2/key/x?a=%23%26%40%5c%2f%2e%2e%09%ff%25%252e+b',
  ],
  ['x?url=https://evil.example/../y', 'https://node.example/v2/key/x?url=https://evil.example/../y'],
  ['x?name=m\u200bünchen', 'https://node.example/v2/key/x?name=m%E2%80%8B%C3%BCnchen'],
  ['a..b/...', 'https://node.example/v2/key/a..b/...'],
  ['münchen', 'https://node.example/v2/key/m%C3%BCnchen'],
])('a resource %j is below its base URL', (resource, expected) => {
  expect(resolveUrl('https://node.example/v2/key', resource).href).toBe(expected)
})

test('the query of the base URL is combined with that of the resource', () => {
  const address = (resource: string) => resolveUrl('https://node.example/v2?token=1', resource).href
  expect(address('x')).toBe('https://node.example/v2/x?token=1')
  expect(address('x?y=2')).toBe('https://node.example/v2/x?token=1&y=2')
})

test.each([
  '..',
  '../x',
  'a/../../x',
  'a/..',
  './x',
  'a/./b',
  '..?x',
  '..;/x',
  'a/..;x=1/b',
  '//evil.example',
  '//evil.example/x',
  'a//b',
  '/\\evil.example',
  '\\..\\x',
  'a\\b',
  '@evil.example',
  'a@evil.example',
  ':80@evil.example/',
  'http://evil.example',
  'HTTPS:evil.example',
  'javascript:alert(1)',
  'file:///etc/passwd',
  '%2e%2e/x',
  '%2E%2e%2fx',
  '.%2e/x',
  '%252e%252e%252fx',
  '%25252e%25252e/x',
  '%2f%2fevil.example',
  'a%2f%2e%2e%2fb',
  '%5c..%5cx',
  '%40evil.example',
  '%2525252525252541',
  'a%00b',
  'a%0d%0aHost:%20evil',
  'a\r\nHost: evil',
  'a\nb',
  'a\tb',
  'a b',
  '\u0000',
  'a\u0085b',
  'a#b',
  'a%23b',
  '%',
  '%zz',
  '%c0%ae%c0%ae/x',
  '．．/x',
  '‥/x',
  'a／..／..／x',
  '＠evil.example',
  '＼..＼x',
  '%EF%BC%8E%EF%BC%8E/x',
  '％2e％2e/x',
  'x?a=b#c',
  'x?a=%0d%0aHost:%20evil',
  'x?a=%00',
  'x?a\r\nHost: evil',
  'x?a\tb',
  'x?a=%',
  'x?a=%zz',
  'x?a=\ud800',
  '../x?y',
  '//evil.example?x',
  '@evil.example?x',
  'http://evil.example?x',
  'a%2f..%2f..%2fb?x=1',
  '\u00a0x',
  '..\u200b/x',
])('a resource %j is refused', (resource) => {
  for (const base of bases) expect(() => resolveUrl(base, resource)).toThrow(/^resource: /)
})

const encoded = (text: string, depths: readonly number[]) =>
  Array.from(text, (character, index) => {
    let out = character
    for (let depth = depths[index % depths.length]!; depth > 0; depth--)
      out =
        out === character
          ? Array.from(Buffer.from(out), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
          : out.replaceAll('%', '%25')
    return out
  }).join('')

const fragments = [
  ...[
    '.',
    '..',
    '/',
    '//',
    '\\',
    '@',
    ':',
    '?',
    '#',
    '%',
    ';',
    '=',
    '&',
    '+',
    ',',
    '~',
    ' ',
    '\t',
    '\r',
    '\n',
    '\0',
  ],
  ...[
    '../',
    '/..',
    '..;',
    '..;x=1/',
    './',
    '/.',
    '...',
    '.. ',
    'http:',
    'http://',
    'evil.example',
    '@evil.example',
  ],
  ...[
    'a',
    'b',
    'v1',
    'evil',
    'v1evil',
    'x=1',
    '%2e',
    '%2F',
    '%5c',
    '%25',
    '%3f',
    '%c0%ae',
    '%u002e',
    '%00',
    '%',
  ],
  ...[
    '．',
    '。',
    '․',
    '‥',
    '／',
    '＼',
    '＠',
    '？',
    '；',
    '％',
    '﹒',
    '\u200b',
    '\u202e',
    '\ud800',
    'ü',
    '\u00a0',
    '\u2028',
  ],
]
const dangerous = fc
  .tuple(
    fc.array(fc.constantFrom(...fragments), { maxLength: 8 }),
    fc.oneof(
      fc.constant([0]),
      fc.constant([1]),
      fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 12 }),
    ),
  )
  .map(([pieces, depths]) => encoded(pieces.join(''), depths))
const harmless = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'v1', 'a..b', '...', 'x-y_z~', 'b;x=1', 'ü', '+', 'a:b'), { maxLength: 5 }),
    fc.constantFrom('', '?', '?x=1', '?/../x', '?x=1;y&z', '?a=?b', '?..'),
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([segments, query, depth]) => encoded(segments.join('/'), [0, depth, 0]) + query)
const resource = fc.oneof(dangerous, harmless, fc.webPath(), fc.string({ unit: 'binary' }))

const decodedOnce = (text: string) =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      return Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1')
    }
  })

const readings: ((path: string) => string)[] = [
  (path) => path,
  (path) => path.replaceAll('\\', '/'),
  (path) => path.normalize('NFKC'),
  (path) => path.replace(/;[^/]*/g, ''),
  (path) => path.replace(/[?#].*$/s, ''),
  (path) => path.replace(/\0.*$/s, ''),
  (path) => path.replace(/\/{2,}/g, '/'),
  (path) => path.replace(/[\s\p{C}]/gu, ''),
  (path) => path.replaceAll(';', '/'),
]

function pathsAsServed(pathname: string): Set<string> {
  const paths = new Set<string>()
  for (const before of readings)
    for (let path = pathname, last; path !== last; path = decodedOnce(before(path))) paths.add((last = path))
  return new Set([...paths].flatMap((path) => readings.map((after) => posix.normalize(after(path)))))
}

const isBelow = (path: string, prefix: string) => path === prefix || path.startsWith(`${prefix}/`)

function addressOf(base: string, text: string): URL | undefined {
  try {
    return resolveUrl(base, text)
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_REQUEST' })
    return undefined
  }
}

test('an accepted resource is below its base URL, however a server decodes and resolves it', () => {
  let accepted = 0
  fc.assert(
    fc.property(fc.constantFrom(...bases), resource, (base, text) => {
      const address = addressOf(base, text)
      if (!address) return
      accepted++
      const root = new URL(base)
      const prefix = root.pathname.replace(/\/+$/, '')
      expect([address.origin, address.username, address.password, address.hash]).toEqual([
        root.origin,
        '',
        '',
        '',
      ])
      expect(new URL(address.href).href).toBe(address.href)
      expect(address.search.startsWith(root.search)).toBe(true)
      for (const path of pathsAsServed(address.pathname))
        if (!isBelow(path, prefix)) throw new Error(`${address.pathname} may be served as ${path}`)
    }),
    { numRuns: 3_000 },
  )
  expect(accepted).toBeGreaterThan(500)
})

test('text after the first ? is query, text before it is path', () => {
  fc.assert(
    fc.property(fc.constantFrom(...bases), resource, (base, text) => {
      const address = addressOf(base, text)
      if (!address) return
      const [path = '', ...query] = text.split('?')
      expect(address.pathname).toBe(resolveUrl(base, path).pathname)
      const asked = resolveUrl(base, `?${query.join('?')}`)
      expect(query.length === 0 ? address.search : asked.search).toBe(address.search)
    }),
    { numRuns: 2_000 },
  )
})

test('a path that leaves the base URL is refused at any depth of percent-encoding', () => {
  const ways = [
    '../x',
    'a/../../x',
    '//evil',
    '\\..\\x',
    '@evil',
    'http://evil',
    'a\r\nb',
    'a/..;/b',
    ';..',
    'a;../b',
    '．．/x',
    '‥/x',
    'a#b',
  ]
  const depths = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(fc.constantFrom(...bases), fc.constantFrom(...ways), depths, (base, way, each) => {
      expect(() => resolveUrl(base, encoded(way, each))).toThrow(/^resource: /)
    }),
    { numRuns: 1_000 },
  )
})
