import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { type Express } from 'express'
import { type ErrorCode, statusOf } from '../errors'
import { serve, stopServing } from '../testing/serve'
import { rawMember } from './body'

afterEach(stopServing)

const echo = (app: Express) => {
  app.post('/echo', (req, res) => {
    res.json({ body: req.body as unknown })
  })
}
const errorOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
]

describe('JSON bodies', () => {
  test('are parsed, and the exact text of each member is available', async () => {
    const { post } = await serve({
      body: { limitBytes: 100_000 },
      routes(app) {
        app.post('/rpc', (req, res) => {
          res.json({
            body: req.body as unknown,
            payload: rawMember(req, 'payload'),
          })
        })
      },
    })
    for (const x of ['1.0', '"ü€😀"', `"${'é'.repeat(20_000)}"`]) {
      const text = `{"payload": {"id": 9007199254740993, "x": ${x}} }`
      const response = await post('/rpc', text)
      expect(await response.json()).toEqual({
        body: JSON.parse(text) as unknown,
        payload: `{"id": 9007199254740993, "x": ${x}}`,
      })
    }
  })

  test('are refused above the limit of the route, also if they are small', async () => {
    const { post } = await serve({ routes: echo, body: { limitBytes: 10 } })
    expect((await post('/echo', '{"a": 12 }')).status).toBe(200)
    expect(await errorOf(await post('/echo', '{"a": 123 }'))).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })

  test('are optional, with or without a content type', async () => {
    const { url } = await serve({ routes: echo })
    for (const init of [{}, { headers: { 'content-type': 'application/json' } }, { body: '' }])
      expect(await (await fetch(`${url}/echo`, { method: 'POST', ...init })).json()).toEqual({})
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; charset=utf8',
    'application/json-rpc',
    'application/jsonrequest; charset=UTF-8',
    'application/vnd.api+json',
  ])('are accepted as %s', async (type) => {
    const { post } = await serve({ routes: echo })
    expect((await post('/echo', '{"a":"ü"}', { 'content-type': type })).status).toBe(200)
  })

  test.each([
    ['malformed JSON', '{"a":', {}, 'INVALID_REQUEST'],
    ['a key twice', '{"a":1,"a":2}', {}, 'INVALID_REQUEST'],
    ['a key into the prototype', '{"__proto__":{"x":1}}', {}, 'INVALID_REQUEST'],
    ['ten thousand levels', `${'['.repeat(4_000)}${']'.repeat(4_000)}`, {}, 'INVALID_REQUEST'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), {}, 'INVALID_REQUEST'],
    ['text/plain', '{"a":1}', { 'content-type': 'text/plain' }, 'INVALID_REQUEST'],
    ['another type of JSON in its name', '{"a":1}', { 'content-type': 'text/json' }, 'INVALID_REQUEST'],
    ['a type that begins as JSON', '{"a":1}', { 'content-type': 'application/json5' }, 'INVALID_REQUEST'],
    ['a form', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }, 'INVALID_REQUEST'],
    ['no content type', Buffer.from('{"a":1}'), { 'content-type': '' }, 'INVALID_REQUEST'],
    [
      'another charset',
      '{"a":1}',
      { 'content-type': 'application/json; charset=utf-16' },
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['an unknown encoding', '{"a":1}', { 'content-encoding': 'zip' }, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a list of encodings', '{"a":1}', { 'content-encoding': 'identity, br' }, 'UNSUPPORTED_MEDIA_TYPE'],
    ['5 MB', Buffer.alloc(5_000_000, ' '), {}, 'PAYLOAD_TOO_LARGE'],
    [
      'half a megabyte, compressed to a few hundred bytes',
      gzipSync(Buffer.alloc(500_000, ' ')),
      { 'content-encoding': 'gzip' },
      'UNSUPPORTED_MEDIA_TYPE',
    ],
  ] as [string, string | Buffer, Record<string, string>, ErrorCode][])(
    'with %s are refused in the error shape',
    async (_, body, headers, code) => {
      const { post, log } = await serve({ routes: echo })
      const response = await post('/echo', body, headers)
      expect(await errorOf(response)).toEqual([statusOf[code], code])
      expect(response.headers.get('content-type')).toContain('application/json')
      expect(log.lines().filter(({ level }) => level === 'error')).toEqual([])
    },
  )

  test.each(['identity', 'IDENTITY', ''])('with the content encoding %j are accepted', async (encoding) => {
    const { post } = await serve({ routes: echo })
    expect((await post('/echo', '{"a":1}', { 'content-encoding': encoding })).status).toBe(200)
  })

  test('that are refused unread are not parsed as the next request', async () => {
    const { raw } = await serve({ routes: echo, body: { limitBytes: 10 } })
    const head = (length: number, ...more: string[]) =>
      [
        'POST /echo HTTP/1.1',
        'Host: a',
        'Content-Type: application/json',
        `Content-Length: ${length}`,
        ...more,
      ]
        .concat('', '')
        .join('\r\n')
    for (const [more, status] of [
      [[], 413],
      [['Content-Encoding: gzip'], 415],
    ] as const) {
      const refused = head(status === 415 ? 8 : 200_000, ...more) + ' '.repeat(status === 415 ? 8 : 200_000)
      const response = await raw(`${refused}${head(2, 'Connection: close')}{}`)
      expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200'])
    }
  })

  test('in chunks have the same limit, and the next request is served', async () => {
    const { raw } = await serve({ routes: echo, body: { limitBytes: 10 } })
    const chunked = (text: string, ...more: string[]) =>
      [
        'POST /echo HTTP/1.1',
        'Host: a',
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
        ...more,
      ]
        .concat('', text.length.toString(16), text, '0', '', '')
        .join('\r\n')
    const response = await raw(chunked(' '.repeat(200_000)) + chunked('{"a":"12"}', 'Connection: close'))
    expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })

  test('that end early do not affect later requests', async () => {
    const { port, post, log, server } = await serve({ routes: echo })
    const req = httpRequest({
      port,
      path: '/echo',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    req.on('error', () => undefined)
    req.write('{"a":')
    await once(server, 'request')
    req.destroy()
    const line = await log.line('request')
    expect(line.aborted).toBe(true)
    expect((await post('/echo', '{}')).status).toBe(200)
    expect(log.lines().filter(({ level }) => level === 'error')).toEqual([])
  })
})
