import { createOwnGateway } from './own-gateway'

const names: Record<string, string[]> = {
  'gateway.example': ['203.0.113.7'],
  'alias.internal': ['10.0.0.7'],
  'gateway.internal': ['10.0.0.7'],
  'here.example': ['127.0.0.1'],
  'cdn-a.example': ['8.8.8.8'],
  'cdn-b.example': ['8.8.8.8'],
}
const resolve = (host: string) => Promise.resolve(names[host] ?? [])
const allows = (gateway: string, url: string) => createOwnGateway(gateway, resolve).allows(new URL(url))

describe('an agent may not reach the account of the gateway', () => {
  const local = 'http://127.0.0.1:3000'
  const named = 'https://gateway.example'
  test.each([
    [local, 'http://127.0.0.1:3000/keys'],
    [local, 'http://127.1:3000/keys'],
    [local, 'http://0x7f000001:3000/keys'],
    [local, 'http://0:3000/keys'],
    [local, 'http://[::1]:3000/keys'],
    [local, 'http://[::ffff:127.0.0.1]:3000/keys'],
    [local, 'http://LOCALHOST.:3000/keys'],
    [local, 'http://a.localhost:3000/keys'],
    [local, 'http://here.example:3000/keys'],
    ['http://localhost:3000', 'http://127.0.0.2:3000/keys'],
    [named, 'https://GATEWAY.example:443/keys'],
    [named, 'http://gateway.example./keys'],
    [named, 'https://203.0.113.7/keys'],
    ['https://203.0.113.7', 'https://gateway.example/keys'],
    ['https://203.0.113.7', 'https://[::ffff:203.0.113.7]/keys'],
    [named, 'http://gateway.example:443/keys'],
    [named, 'https://gateway.example:80/keys'],
    ['http://gateway.internal:80', 'http://alias.internal/keys'],
    [named, 'https://gateway.example/v1/../keys'],
    [named, 'https://gateway.example/v1/%2E%2e/keys'],
    [named, 'https://gateway.example/v1/x/..%2f..%2fkeys'],
    [named, 'https://gateway.example/v1/x/%252e%252e/%252e%252e/keys'],
    [named, 'https://gateway.example/v1\\..\\keys'],
    [named, 'https://gateway.example/v1/.\t./keys'],
    [named, 'https://gateway.example//v1/../keys'],
    [named, 'https://gateway.example//keys'],
    [named, 'https://gateway.example/KEYS/1'],
    [named, 'https://gateway.example/webhooks'],
    [named, 'https://gateway.example/auth/nonce'],
    [named, 'https://gateway.example/rpc'],
    [named, 'https://gateway.example/credits'],
    [named, 'https://gateway.example/v1'],
    [`${named}/base`, 'https://gateway.example/base/keys'],
    [`${named}/base`, 'https://gateway.example/v1/84532'],
  ])('of %s at %s', async (gateway, url) => expect(await allows(gateway, url)).toBe(false))

  test.each([
    [named, 'https://gateway.example/v1/base-sepolia'],
    [named, 'https://gateway.example:443/v1/a/rest/denoms/ibc%2FA..B?x=/../'],
    [`${named}/base`, 'https://gateway.example/base/v1/84532'],
    [named, 'https://shop.example/keys'],
    [named, 'https://gateway.example:8443/keys'],
    [local, 'http://127.0.0.1:4021/keys'],
    ['https://cdn-a.example', 'https://cdn-b.example/keys'],
  ])('and may, beside %s, call %s', async (gateway, url) => expect(await allows(gateway, url)).toBe(true))
})
