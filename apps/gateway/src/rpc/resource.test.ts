import fc from 'fast-check'
import { posix } from 'node:path'
import { addressBelow } from './resource'

const bases = [
  'https://node.example',
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
  ['a..b/...', 'https://node.example/v2/key/a..b/...'],
  ['münchen', 'https://node.example/v2/key/m%C3%BCnchen'],
])('a resource %j is below its base URL', (resource, expected) => {
  expect(addressBelow('https://node.example/v2/key', resource).href).toBe(expected)
})

test('the query of the base URL goes along with that of the resource', () => {
  const address = (resource: string) => addressBelow('https://node.example/v2?token=1', resource).href
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
])('a resource %j is refused', (resource) => {
  for (const base of bases) expect(() => addressBelow(base, resource)).toThrow(/^resource: /)
})

/** What a careless server may make of a path: every percent-encoding resolved, however deep. */
function decoded(text: string): string {
  let before
  do {
    before = text
    try {
      text = decodeURIComponent(text)
    } catch {
      return text
    }
  } while (text !== before)
  return text
}

test('whatever is not refused is below its base URL, for careless servers too', () => {
  const piece = fc.constantFrom(
    ...['.', '..', '/', '//', '\\', '@', ':', '?', '#', '%', '%2e', '%2f', '%5c', '%25', '%3a', '%40', '%3f'],
    ...[
      'http:',
      'evil.example',
      'a',
      'v1',
      ';',
      '=',
      '&',
      '\t',
      '\r',
      '\n',
      ' ',
      '．',
      '。',
      '／',
      '＠',
      '\u200b',
    ],
  )
  const resource = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
    fc.webPath(),
    fc.string({ unit: 'binary' }),
  )
  let accepted = 0
  fc.assert(
    fc.property(fc.constantFrom(...bases), resource, (base, text) => {
      let address: URL
      try {
        address = addressBelow(base, text)
      } catch (error) {
        expect(error).toMatchObject({ code: 'INVALID_REQUEST' })
        return
      }
      accepted++
      const root = new URL(base)
      const prefix = root.pathname.replace(/\/+$/, '')
      const path = decoded(address.pathname.split(';').join('/').replaceAll('\\', '/'))
      expect([address.origin, address.username, address.password, address.hash]).toEqual([
        root.origin,
        '',
        '',
        '',
      ])
      expect(new URL(address.href).href).toBe(address.href)
      expect(`${posix.normalize(path.split('?', 1)[0]!)}/`.startsWith(`${prefix}/`)).toBe(true)
      expect(address.search.startsWith(root.search)).toBe(true)
    }),
    { numRuns: 2_000 },
  )
  expect(accepted).toBeGreaterThan(200)
})
