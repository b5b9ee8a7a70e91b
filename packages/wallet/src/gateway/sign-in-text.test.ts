import { audienceOf, signInText } from './sign-in-text'

const gateway = 'https://gateway.example/base'
const fields = {
  ecosystem: 'evm',
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  chainId: '84532',
  nonce: 'c3fd9d20e46266f7',
  issuedAt: '2026-11-25T12:00:00.000Z',
} as const

test.each([
  ['the gateway, outside a page', undefined, [], undefined, { domain: 'gateway.example', uri: gateway }],
  [
    'the page, if it is listed',
    'https://app.example/x',
    ['app.example'],
    undefined,
    { domain: 'app.example', uri: 'https://app.example' },
  ],
  [
    'the page, if any may',
    'https://app.example/',
    ['*'],
    undefined,
    { domain: 'app.example', uri: 'https://app.example' },
  ],
  [
    'the gateway on another page',
    'https://app.example/',
    ['Tollgate'],
    undefined,
    { domain: 'gateway.example', uri: gateway },
  ],
  [
    'no domain that only the gateway named',
    undefined,
    ['other.example'],
    undefined,
    { domain: 'gateway.example', uri: gateway },
  ],
  ['the name that the app gave', undefined, [], 'Tollgate', { name: 'Tollgate' }],
])('is for %s', (_name, page, accepted, name, audience) => {
  expect(
    audienceOf(gateway, { page: page === undefined ? undefined : new URL(page), accepted, name }),
  ).toEqual(audience)
})

test('is an EIP-4361 text that names the gateway whose credits are spent', () => {
  const audience = { domain: 'app.example', uri: 'https://app.example' }
  expect(signInText(gateway, audience, fields))
    .toBe(`app.example wants you to sign in with your Ethereum account:
0x70997970C51812dc3A010C7d01b50e0d17dc79C8

Sign in to spend your credits at https://gateway.example/base.

URI: https://app.example
Version: 1
Chain ID: 84532
Nonce: c3fd9d20e46266f7
Issued At: 2026-11-25T12:00:00.000Z
Resources:
- https://gateway.example/base`)
})

test('is the short text for a service by name', () => {
  expect(signInText(gateway, { name: 'Tollgate' }, fields)).toBe(
    'Tollgate wants you to sign in.\n\nAddress: 0x70997970C51812dc3A010C7d01b50e0d17dc79C8\nNonce: c3fd9d20e46266f7\nIssued At: 2026-11-25T12:00:00.000Z',
  )
})
