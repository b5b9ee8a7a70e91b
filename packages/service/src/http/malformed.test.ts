import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import express, { type Express, type Response } from 'express'
import { serve, stopServing } from '../testing/serve'
import { closeServer, createServer, listen } from './server'

afterEach(stopServing)

async function serveSlowly() {
  let slow: Response | undefined
  const routes = (app: Express) => {
    app.get('/health', (_req, res) => void res.json({ status: 'ok' }))
    app.post('/echo', (req, res) => void res.json({ body: req.body as unknown }))
    app.get('/slow', (_req, res) => {
      slow = res
    })
    app.get('/begun', (_req, res) => {
      slow = res
      res.writeHead(200, { 'content-length': '9' }).write('half')
    })
  }
  const served = await serve({ routes })

  async function pipelined(text: string) {
    const received = served.raw(text)
    await once(served.server, 'request')
    await delay(50)
    slow?.end('-done')
    return received
  }
  return { ...served, pipelined }
}

type RawResponse = { status: number; head: string; body: string }

function responsesIn(text: string): RawResponse[] {
  const responses: RawResponse[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const head = rest.slice(0, end)
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    responses.push({ status, head, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return responses
}
const codeOf = ({ body }: RawResponse) => (JSON.parse(body) as { code?: string }).code
const outcomesIn = (text: string) => responsesIn(text).map((response) => [response.status, codeOf(response)])

const newId = /^x-request-id: [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/im

const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...headers, 'Connection: close', '', ''].join('\r\n')
const post = (headers: string[], body = '') =>
  ['POST /echo HTTP/1.1', 'Host: a', 'Connection: close', ...headers, '', body].join('\r\n')

const json = 'Content-Type: application/json'
const fine = [200, undefined]
const malformed = [400, 'INVALID_REQUEST']
const upgradeRequired = [426, 'UPGRADE_REQUIRED']

describe('one connection with', () => {
  test.each<[string, string, unknown[]]>([
    ['an unsupported expectation', get('/health', 'Expect: coffee'), [417, 'EXPECTATION_FAILED']],
    ['an expectation of an unknown path', get('/nothing', 'Expect: coffee'), [417, 'EXPECTATION_FAILED']],
    ['no Host', 'GET /health HTTP/1.1\r\n\r\n', malformed],
    ['no Host in HTTP/1.0, which has none', 'GET /health HTTP/1.0\r\n\r\n', fine],
    ['two Hosts', get('/health', 'Host: b'), malformed],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', [405, 'METHOD_NOT_ALLOWED']],
    ['CONNECT without Host', 'CONNECT a:443 HTTP/1.1\r\n\r\n', [405, 'METHOD_NOT_ALLOWED']],
    ['an upgrade to WebSocket', get('/health', 'Upgrade: websocket'), upgradeRequired],
    ['an upgrade to it, or to HTTP/2', get('/health', 'Upgrade: h2c, WebSocket/13'), upgradeRequired],
    ['an upgrade to it at an unknown path', get('/nothing', 'Upgrade: websocket'), upgradeRequired],
    ['an upgrade to it that a proxy made plain', get('/health', 'Sec-WebSocket-Key: x'), upgradeRequired],
    ['an upgrade to another protocol', get('/health', 'Upgrade: IRC/6.9'), upgradeRequired],
    ['an upgrade by POST', post([json, 'Upgrade: websocket', 'Content-Length: 2'], '{}'), upgradeRequired],
    ['an upgrade to TLS', get('/health', 'Upgrade: TLS/1.0'), fine],
    ['an upgrade to HTTP/2', get('/health', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'), fine],
    ['HTTP/2 at once', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', malformed],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', malformed],
    ['not HTTP', 'hello\r\n\r\n', malformed],
    ['an unknown version', 'GET /health HTTP/1.2\r\nHost: a\r\n\r\n', malformed],
    ['lines that end in LF', 'GET /health HTTP/1.1\nHost: a\n\n', malformed],
    ['TRACE', get('/health').replace('GET', 'TRACE'), [405, 'METHOD_NOT_ALLOWED']],
    ['a method of another protocol', get('/health').replace('GET', 'PROPFIND'), [405, 'METHOD_NOT_ALLOWED']],
    ['an unknown method', get('/health').replace('GET', 'BREW'), malformed],
    ['a path of 15 KB', get(`/${'x'.repeat(15_000)}`), [404, 'NOT_FOUND']],
    ['a path of 17 KB', get(`/${'x'.repeat(17_000)}`), [431, 'HEADERS_TOO_LARGE']],
    ['a target with another host', get('http://other.host/health'), fine],
    ['an invalid target', get('http://[::1/health'), malformed],
    ['a target of another scheme', get('ftp://a%00b/nothing'), [404, 'NOT_FOUND']],
    ['a target without its slash', get('health'), malformed],
    ['a target with an empty segment', get('//health'), [404, 'NOT_FOUND']],
    ['a target of bytes above 0x7f', get('/\u00ff'), malformed],
    ['a broken percent encoding', get('/%'), [404, 'NOT_FOUND']],
    ['an asterisk', get('*'), [404, 'NOT_FOUND']],
    ['OPTIONS of all', get('*').replace('GET', 'OPTIONS'), [404, 'NOT_FOUND']],
    ['a header of bytes above 0x7f', get('/health', 'X: \u00ff\u00fe', 'X-Request-Id: \u00e9'), fine],
    ['a header with a control character', get('/health', 'X: \u0001'), malformed],
    ['a header whose name has a space', get('/health', 'X y: 1'), malformed],
    ['a folded header', get('/health', 'X: a\r\n b'), malformed],
    ['a length twice', post([json, 'Content-Length: 2', 'Content-Length: 2'], '{}'), malformed],
    ['two lengths', post([json, 'Content-Length: 2', 'Content-Length: 3'], '{}'), malformed],
    [
      'a length and chunks',
      post([json, 'Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      malformed,
    ],
    ['a length below zero', post([json, 'Content-Length: -1']), malformed],
    ['a length beyond all numbers', post([json, `Content-Length: ${'9'.repeat(30)}`]), malformed],
    [
      'a length beyond the limit, without the body',
      post([json, 'Content-Length: 9999999999']),
      [413, 'PAYLOAD_TOO_LARGE'],
    ],
    ['an invalid chunk', post([json, 'Transfer-Encoding: chunked'], 'zz\r\n'), malformed],
    ['a transfer encoding without an end', post([json, 'Transfer-Encoding: gzip'], '{}'), malformed],
    [
      'an invalid chunk in a body that is refused unread',
      post(['Content-Type: text/plain', 'Transfer-Encoding: chunked'], 'zz\r\n'),
      malformed,
    ],
    ['chunks in chunks', post([json, 'Transfer-Encoding: chunked, chunked'], '0\r\n\r\n'), malformed],
    ['a body after 100 Continue', post([json, 'Expect: 100-continue', 'Content-Length: 2'], '{}'), [100]],
  ])('%s gets one JSON response, and the connection closes', async (_, text, outcome) => {
    const { raw, log, url } = await serveSlowly()
    const responses = responsesIn(await raw(Buffer.from(text, 'latin1')))
    if (outcome[0] === 100) expect(responses.map(({ status }) => status)).toEqual([100, 200])
    else expect(responses.map((response) => [response.status, codeOf(response)])).toEqual([outcome])
    expect(responses.at(-1)!.head).toMatch(/^connection: (?:Upgrade, )?close$/im)
    expect(responses.at(-1)!.head).toMatch(/^content-type: application\/json/im)
    expect(responses.at(-1)!.head).toMatch(newId)
    expect(log.lines().filter(({ level }) => level === 'error')).toEqual([])
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('an endless chunked body gets REQUEST_TIMEOUT', async () => {
    const { raw, server } = await serveSlowly()
    server.requestTimeout = 100
    const answer = await raw(post([json, 'Transfer-Encoding: chunked'], '1\r\n{\r\n'))
    expect(outcomesIn(answer)).toEqual([[408, 'REQUEST_TIMEOUT']])
    expect(answer).toMatch(newId)
  })

  test('endless headers get REQUEST_TIMEOUT', async () => {
    const { raw, server } = await serveSlowly()
    server.headersTimeout = 100
    const answer = await raw('GET /health HTTP/1.1\r\nHost: a\r\n')
    expect(outcomesIn(answer)).toEqual([[408, 'REQUEST_TIMEOUT']])
    expect(answer).toMatch(newId)
  })

  test.each([
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine-1\r\n\r\n'],
    ['an invalid target', get('http://[::1/health', 'X-Request-Id: mine-1')],
    [
      'an invalid body',
      post([json, 'X-Request-Id: mine-1', 'Transfer-Encoding: chunked'], '1\r\n{\r\nzz\r\n'),
    ],
  ])('%s gets a response with its own request id', async (_, text) => {
    const { raw } = await serveSlowly()
    expect((await raw(text)).match(/^x-request-id: .*$/gim)).toEqual(['X-Request-Id: mine-1'])
  })

  test('many pipelined requests get their responses in order', async () => {
    const { raw } = await serveSlowly()
    const request = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`
    const text =
      Array.from({ length: 50 }, () => request('/health') + request('/nothing')).join('') + get('/health')
    const outcomes = outcomesIn(await raw(text))
    expect(outcomes).toHaveLength(101)
    outcomes.forEach((outcome, index) => expect(outcome).toEqual(index % 2 ? [404, 'NOT_FOUND'] : fine))
  })
})

describe('a second request on the connection', () => {
  const first = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`

  test.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a request without Host', 'GET /health HTTP/1.1\r\n\r\n', 400],
    ['an expectation', get('/health', 'Expect: coffee'), 417],
    ['a request with an invalid body', post(['Transfer-Encoding: chunked', json], 'zz\r\n'), 400],
  ])('(%s) gets its response after that of the first', async (_, second, status) => {
    for (const [target, body] of [
      ['/slow', '-done'],
      ['/begun', 'half-done'],
    ] as const) {
      const { pipelined } = await serveSlowly()
      const responses = responsesIn(await pipelined(first(target) + second))
      expect(responses.map((response) => response.status)).toEqual([200, status])
      expect(responses[0]!.body).toBe(body)
      await stopServing()
    }
  })

  test('with an invalid chunk destroys its own response that has begun', async () => {
    const app = express()
    app.post('/echo', (_req, res) => void res.writeHead(200).write('begun'))
    const server = createServer(app)
    const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString())).on('error', () => undefined)
    socket.write(post(['Transfer-Encoding: chunked'], '1\r\n{\r\n'))
    while (!received.includes('begun')) await once(socket, 'data')
    socket.write('zz\r\n')
    await once(socket, 'close')
    await closeServer(server, { graceSeconds: 0 })
    expect(received.match(/HTTP/g)).toHaveLength(1)
    expect(received.endsWith('begun\r\n')).toBe(true)
  })
})

test('the server disconnects a refused client that does not close', async () => {
  const { port, server } = await serveSlowly()
  for (const text of ['nonsense\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined).resume()
    const accepted = once(server, 'connection') as Promise<[Socket]>
    socket.write(text)
    const [serverSocket] = await accepted
    const closed = once(serverSocket, 'close')
    await once(socket, 'end')
    await closed
    socket.destroy()
  }
})

test('a client that disconnects while it is refused does not affect others', async () => {
  const { port, url, server } = await serveSlowly()
  for (const text of ['nonsense\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'])
    for (let times = 0; times < 20; times++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      const accepted = once(server, 'connection')
      socket.write(text)
      await accepted
      socket.resetAndDestroy()
    }
  expect((await fetch(`${url}/health`)).status).toBe(200)
})
