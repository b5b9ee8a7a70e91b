import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { type Express } from 'express'
import { ApiError, type ErrorCode, statusOf } from '../errors'
import { serve, stopServing } from '../testing/serve'
import { rawMember } from './body'

afterEach(stopServing)

const echo = (app: Express) => {
  app.post('/echo', (req, res) => {
    res.json({ body: req.body as unknown, raw: req.rawBody?.toString() })
  })
}
const errorOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code]

describe('JSON bodies', () => {
  test('come parsed, with their bytes and the exact text of each member beside them', async () => {
    const { post } = await serve({
      routes(app) {
        app.post('/rpc', (req, res) => {
          res.json({
            body: req.body as unknown,
            raw: req.rawBody?.toString(),
            payload: rawMember(req, 'payload'),
          })
        })
      },
    })
    const text = '{"payload": {"id": 9007199254740993, "x": 1.0}}'
    const answer = await post('/rpc', text)
    expect(await answer.json()).toEqual({
      body: JSON.parse(text) as unknown,
      raw: text,
      payload: '{"id": 9007199254740993, "x": 1.0}',
    })
  })

  test('may be left out, with or without a content type', async () => {
    const { url } = await serve({ routes: echo })
    for (const init of [{}, { headers: { 'content-type': 'application/json' } }, { body: '' }])
      expect(await (await fetch(`${url}/echo`, { method: 'POST', ...init })).json()).toEqual({})
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; charset=utf8',
  ])('are taken as %s', async (type) => {
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
    ['a form', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }, 'INVALID_REQUEST'],
    ['no content type', Buffer.from('{"a":1}'), { 'content-type': '' }, 'INVALID_REQUEST'],
    [
      'another charset',
      '{"a":1}',
      { 'content-type': 'application/json; charset=utf-16' },
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['an unknown encoding', '{"a":1}', { 'content-encoding': 'zip' }, 'UNSUPPORTED_MEDIA_TYPE'],
    ['an encoding that it does not have', '{"a":1}', { 'content-encoding': 'gzip' }, 'INVALID_REQUEST'],
    ['5 MB', Buffer.alloc(5_000_000, ' '), {}, 'PAYLOAD_TOO_LARGE'],
    [
      'a gzip bomb',
      gzipSync(Buffer.alloc(50_000_000, ' ')),
      { 'content-encoding': 'gzip' },
      'PAYLOAD_TOO_LARGE',
    ],
  ] as [string, string | Buffer, Record<string, string>, ErrorCode][])(
    'with %s are refused in the error shape',
    async (_, body, headers, code) => {
      const { post, log } = await serve({ routes: echo })
      const answer = await post('/echo', body, headers)
      expect(await errorOf(answer)).toEqual([statusOf[code], code])
      expect(answer.headers.get('content-type')).toContain('application/json')
      expect(log.lines().filter(({ level }) => level === 'error')).toEqual([])
    },
  )

  test('have the limit that their request is given, of which nothing is read if it is refused one', async () => {
    const { post, raw } = await serve({
      routes: echo,
      bodyLimitBytes({ headers, body, rawBody }) {
        expect([body, rawBody]).toEqual([undefined, undefined])
        if (headers['x-limit'] === undefined) throw new ApiError('INVALID_TOKEN', 'Who are you?')
        return Number(headers['x-limit'])
      },
    })
    for (const [text, limit, outcome] of [
      ['{"a":"12"}', '10', 200],
      ['{"a":"123"}', '10', 413],
      ['{"a":"123"}', '11', 200],
    ] as const) {
      expect((await post('/echo', text, { 'x-limit': limit })).status).toBe(outcome)
      const gzip = { 'x-limit': limit, 'content-encoding': 'gzip' }
      if (outcome === 413) expect((await post('/echo', gzipSync(text), gzip)).status).toBe(413)
    }
    expect(await errorOf(await post('/echo', '{"a":'))).toEqual([401, 'INVALID_TOKEN'])

    // What is left of a refused body is not taken for the next request.
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
      [[], 401],
      [['X-Limit: 10'], 413],
    ] as const) {
      const refused = head(200_000, ...more) + ' '.repeat(200_000)
      const answer = await raw(`${refused}${head(2, 'X-Limit: 10', 'Connection: close')}{}`)
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200'])
    }
  })

  test('compressed within the limit are taken', async () => {
    const { post } = await serve({ routes: echo })
    const answer = await post('/echo', gzipSync('{"a":1}'), { 'content-encoding': 'gzip' })
    expect(await answer.json()).toEqual({ body: { a: 1 }, raw: '{"a":1}' })
  })

  test('that break off in the middle leave the service well', async () => {
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
