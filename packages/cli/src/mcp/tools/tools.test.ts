import { multiply } from './catalog-tools'
import { parseTarget } from './pay-x402-url'
import { staysBelow } from './rpc-call'

describe('multiply', () => {
  test.each([
    ['0.0001', 3, '0.0003'],
    ['0.0001', 10_000, '1'],
    ['2', 5, '10'],
    ['0.5', 0, '0'],
    ['1234567890123456.000001', 2, '2469135780246912.000002'],
  ])('%s * %d = %s', (decimal, factor, product) => expect(multiply(decimal, factor)).toBe(product))
})

describe('parseTarget', () => {
  test.each([
    'file:///etc/passwd',
    'ftp://x/',
    'data:text/plain,x',
    'javascript:1',
    '/relative',
    '',
    'http://',
  ])('%s is refused', (url) => expect(() => parseTarget(url)).toThrow('absolute'))
  test('refuses a user and password', () =>
    expect(() => parseTarget('http://u:p@shop.example/')).toThrow('password'))
  test('leaves the fragment out', () =>
    expect(parseTarget('http://x.example/a#b')).toBe('http://x.example/a'))
})

describe('staysBelow', () => {
  test.each(['cosmos/bank/v1beta1/supply', '/cosmos/a?b=../c', 'a.b/..c', ''])('%s is below', (path) =>
    expect(staysBelow(path)).toBe(true),
  )
  test.each(['../x', 'a/../../x', 'a/%2e%2e/x', '%2E./x', 'a/..', './x', 'a\\..\\..\\x'])(
    '%s is not',
    (path) => expect(staysBelow(path)).toBe(false),
  )
})
