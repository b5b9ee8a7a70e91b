import { findRefusal, isLoopback, parseListen } from './access'

describe('parseListen', () => {
  test.each([
    ['8765', { host: '127.0.0.1', port: 8765 }],
    ['0', { host: '127.0.0.1', port: 0 }],
    ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
    ['localhost:80', { host: 'localhost', port: 80 }],
    ['[::1]:80', { host: '::1', port: 80 }],
    ['::1:80', undefined],
    ['[x]:80', undefined],
    ['70000', undefined],
    ['host', undefined],
    ['', undefined],
  ])('%s', (text, listen) => expect(parseListen(text)).toEqual(listen))

  test('only names of loopback need no token', () => {
    expect(['127.0.0.1', '::1', 'LOCALHOST'].map((host) => isLoopback({ host }))).toEqual([true, true, true])
    expect(
      ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example'].map((host) => isLoopback({ host })),
    ).toEqual([...[false, false, false, false]])
  })
})

describe('findRefusal', () => {
  const local = { isLoopback: true, port: 80, token: undefined }
  const open = { isLoopback: false, port: 80, token: 'a token of the clients' }
  const authorization = `Bearer ${open.token}`

  test.each([
    ['a name of this machine', { host: 'localhost:80' }, local, undefined],
    ['its address', { host: '127.0.0.1:80' }, local, undefined],
    ['IPv6', { host: '[::1]:80' }, local, undefined],
    ['a page of this machine', { host: 'localhost:80', origin: 'http://localhost:3000' }, local, 403],
    ['a rebound name', { host: 'evil.example:80' }, local, 403],
    ['another port', { host: 'localhost:81' }, local, 403],
    ['a name that begins as loopback does', { host: 'localhost.evil.example:80' }, local, 403],
    ['no Host', {}, local, 403],
    ['a page', { host: 'localhost:80', origin: 'https://evil.example' }, local, 403],
    ['a page without origin', { host: 'localhost:80', origin: 'null' }, local, 403],
    [
      'a page whose origin begins so',
      { host: 'localhost:80', origin: 'http://localhost.evil.example' },
      local,
      403,
    ],
    ['no token', { host: 'mcp.example' }, open, 401],
    ['another token', { host: 'mcp.example', authorization: 'Bearer x' }, open, 401],
    ['another scheme', { host: 'mcp.example', authorization: `Basic ${open.token}` }, open, 401],
    ['the token', { host: 'mcp.example', authorization }, open, undefined],
    [
      'the token from a page',
      { host: 'mcp.example', authorization, origin: 'https://evil.example' },
      open,
      403,
    ],
    [
      'loopback without the token that is set',
      { host: 'localhost:80' },
      { ...local, token: open.token },
      401,
    ],
  ])('%s', (_, asked, access, status) => expect(findRefusal(asked, access)?.status).toBe(status))
})
