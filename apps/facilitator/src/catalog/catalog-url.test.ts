import { catalogUrl } from './catalog-url'

const development = { isProduction: false }
const production = { isProduction: true }
const of = (text: string, template?: unknown, where = development) =>
  catalogUrl(text, template, where)?.resource

test.each([
  ['https://shop.example/weather', 'https://shop.example/weather'],
  ['https://shop.example/weather?city=Oslo#now', 'https://shop.example/weather'],
  ['https://SHOP.example:443/a/../b', 'https://shop.example/b'],
  ['http://127.0.0.1:8080/x', 'http://127.0.0.1:8080/x'],
  ['/weather', undefined],
  ['ftp://shop.example/', undefined],
  ['javascript:alert(1)', undefined],
  ['https://user:secret@shop.example/', undefined],
  ['https://shop.example/a b', undefined],
  ['https://shop.example/\u0000', undefined],
  [`https://shop.example/${'x'.repeat(2_048)}`, undefined],
  [`https://shop.example/${'"'.repeat(1_000)}`, undefined],
])('%j is cataloged as %j', (text, expected) => {
  expect(of(text)).toBe(expected)
})

test.each([
  ['/users/:userId', '/users/:userId'],
  ['/a/%7Eb', '/a/%7Eb'],
  ['users', '/users/1'],
  ['/a/../admin', '/users/1'],
  ['/a/%2e%2e/admin', '/users/1'],
  ['/a/%252e%252e/admin', '/users/1'],
  ['/x://evil.example', '/users/1'],
  ['/x%3A%2F%2Fevil.example', '/users/1'],
  ['//evil.example/x', '/users/1'],
  ['/%zz', '/users/1'],
  ['/a?b=c', '/users/1'],
  [5, '/users/1'],
  [undefined, '/users/1'],
])('the route template %j gives the path %j', (template, path) => {
  expect(of('https://shop.example/users/1', template)).toBe(`https://shop.example${path}`)
})

test.each([
  'http://shop.example/',
  'https://localhost/',
  'https://shop/',
  'https://shop.local/',
  'https://shop.localhost./',
  'https://metadata.google.internal/',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://169.254.169.254/latest',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://10.0.0.1/',
])('%s is not cataloged in production', (text) => {
  expect(of(text, undefined, production)).toBeUndefined()
  expect(of(text)).toBeDefined()
})

test.each(['https://shop.example/', 'https://8.8.8.8/dns'])('%s is, in production too', (text) => {
  expect(of(text, undefined, production)).toBe(text)
})
