import { parseCatalog } from '../catalog-file'
import { findOpenKeys } from './check-secrets'
import { obviousKeysIn, withoutObviousKeys } from './obvious-key'
import { referencesIn } from './secret-references'

const parsed = (rpc: string, headers: Record<string, string> = {}) =>
  parseCatalog(
    JSON.stringify({
      plans: [],
      providers: [{ provider_id: 'p', category: 'evm', chain_id: '1', rpc: [rpc], headers }],
    }),
  ).providers[0]!

test.each([
  ['https://eth.example/v2/${env:KEY}', ['env:KEY']],
  [
    'https://${env:NODE_HOST}.example/${file:/run/secrets/key}?t=${env:KEY}',
    ['env:NODE_HOST', 'file:/run/secrets/key', 'env:KEY'],
  ],
  ['${env:NODE_URL}', ['env:NODE_URL']],
  ['env:NODE_URL', ['env:NODE_URL']],
  ['${file:/run/secrets/node-url}', ['file:/run/secrets/node-url']],
  ['https://eth.example/v2', []],
])('the URL %s has the references %j', (url, references) => {
  expect(referencesIn(parsed(url).rpc[0]!)).toEqual(references)
})

test.each([
  'https://eth.example/v2/env:KEY',
  'https://eth.example/v2/${KEY}',
  'https://eth.example/v2/$env:KEY',
  'https://eth.example/v2/${env:}',
  'https://eth.example/v2/${env:A B}',
  'https://eth.example/v2/${file:relative}',
  'https://user:${env:PASSWORD}@eth.example',
  'ftp://${env:NODE_HOST}',
  'file:/run/secrets/node-url',
])('the URL %s is refused, and not sent as it is', (url) => {
  expect(() => parsed(url)).toThrow(/providers\.0\.rpc\.0/)
})

test.each([
  [{ Authorization: 'Bearer ${env:KEY}' }, { authorization: 'Bearer ${env:KEY}' }],
  [{ 'X-Api-Key': '${file:/run/secrets/key}' }, { 'x-api-key': '${file:/run/secrets/key}' }],
  [{ 'x-client': 'tollgate' }, { 'x-client': 'tollgate' }],
])('the headers %j are read as %j', (headers, expected) => {
  expect(parsed('https://eth.example', headers as Record<string, string>).headers).toEqual(expected)
})

test.each<Record<string, string>>([
  { authorization: 'Bearer of-a-key' },
  { 'X-Api-Key': 'open' },
  { 'x-project': '0123456789abcdef0123456789abcdef' },
  { 'x-client': 'Bearer env:KEY' },
  { 'x-client': 'a\r\nhost: evil' },
  { host: 'evil.example' },
  { 'Content-Length': '0' },
  { 'transfer-encoding': 'chunked' },
  { 'a b': 'c' },
  { 'x-a': 'one', 'X-A': 'two' },
])('the headers %j are refused', (headers) => {
  expect(() => parsed('https://eth.example', headers)).toThrow(/providers\.0\.headers/)
})

test('a variable of the gateway itself is no secret of a provider', () => {
  expect(() => parsed('https://eth.example/${env:JWT_SECRET}')).toThrow(/the gateway’s own/)
})

test.each([
  [
    'https://eth-mainnet.g.alchemy.com/v2/Abc1def2Ghi3jkl4Mno5pqr6Stu7vwx8',
    'https://eth-mainnet.g.alchemy.com/v2/[key]',
  ],
  ['https://mainnet.infura.io/v3/0123456789abcdef0123456789abcdef', 'https://mainnet.infura.io/v3/[key]'],
  ['https://x.quiknode.pro/0123456789abcdef0123456789abcdef01234567/', 'https://x.quiknode.pro/[key]/'],
  ['https://eth.blastapi.io/0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0', 'https://eth.blastapi.io/[key]'],
  ['https://node.example/rpc?apikey=short', 'https://node.example/rpc?apikey=[key]'],
  [
    'https://lb.drpc.org/ogrpc?network=ethereum&dkey=Abc',
    'https://lb.drpc.org/ogrpc?network=ethereum&dkey=[key]',
  ],
  ['https://0123456789abcdefghij.node.example', 'https://[key].node.example'],
])('the key in %s is seen: %s', (url, shown) => {
  expect(withoutObviousKeys(url)).toBe(shown)
  const { rpc } = parsed(url)
  const [warning] = findOpenKeys({ plans: [], providers: [{ ...parsed(url), rpc }] })
  expect(warning).toMatch(/^provider "p" \(evm, 1\): rpc\.0 seems to hold a key/)
  for (const key of obviousKeysIn(url)) expect(warning).not.toContain(` ${key}`)
})

test.each([
  'https://sepolia.base.org',
  'https://rpc.osmosis.zone/archive-node-1',
  'https://cosmos-rpc.publicnode.com:443/cosmoshub-4/mainnet',
  'https://node.example/rpc?network=base-sepolia-testnet-1',
  'http://10.0.0.7:26657/v1',
  'https://ethereum-sepolia-rpc.internationalization.example',
])('no key is seen in %s', (url) => {
  expect(obviousKeysIn(url)).toEqual([])
})
