import { parsePlainUrl } from './plain-url'

const secret = `tgk_${'a'.repeat(43)}`

test.each([
  ['/v1/84532', { chain: '84532', resource: '' }],
  ['/v1/84532/', { chain: '84532', resource: '' }],
  ['/v1/eip155:84532', { chain: 'eip155:84532', resource: '' }],
  ['/v1/eip155%3A84532?a=b', { chain: 'eip155:84532', resource: '?a=b' }],
  [`/v1/84532/${secret}`, { chain: '84532', secret, resource: '' }],
  [`/v1/84532/${secret}/status?height=1`, { chain: '84532', secret, resource: '/status?height=1' }],
  ['/v1/osmosis-1/block?height=%225%22&a=?', { chain: 'osmosis-1', resource: '/block?height=%225%22&a=?' }],
  ['/v1/osmosis-1/rest', { chain: 'osmosis-1', transport: 'rest', resource: '' }],
  ['/v1/osmosis-1/rest/cosmos/bank', { chain: 'osmosis-1', transport: 'rest', resource: '/cosmos/bank' }],
  [
    `/v1/osmosis-1/${secret}/rest/a//b?c`,
    { chain: 'osmosis-1', secret, transport: 'rest', resource: '/a//b?c' },
  ],
  // What is shorter or longer than a secret names a method.
  [`/v1/84532/${secret}a`, { chain: '84532', resource: `/${secret}a` }],
  ['/v1/84532/%2e%2e/x', { chain: '84532', resource: '/%2e%2e/x' }],
])('%s', (url, expected) => {
  expect(parsePlainUrl(url)).toEqual({ secret: undefined, transport: 'rpc', ...expected })
})

test('a chain that is not percent-encoded properly is refused', () => {
  expect(() => parsePlainUrl('/v1/%zz')).toThrow(URIError)
})
