import express from 'express'
import { once } from 'node:events'
import { connect } from 'node:net'
import supertest from 'supertest'
import { ApiError, type ErrorCode } from '../errors'
import { readableLog } from '../testing/log'
import { serve, stopServing } from '../testing/serve'
import { createBaseApp } from './app'
import { bodyOf, createBodyReader } from './body'
import { type CompletedRequest, requestId } from './request-context'
import { registerAllowedMethods } from './not-found'

afterEach(stopServing)

const echo = (app: express.Express) => {
  app.post('/echo', (req, res) => {
    res.json({ body: req.body as unknown })
  })
}
const errorOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
]

describe('error responses', () => {
  test('contain the code, message, details and Retry-After of an ApiError', async () => {
    const { url, log } = await serve({
      routes(app) {
        app.get('/', () => {
          const cause = new Error('no answer from 10.0.0.7')
          throw new ApiError('PAYMENT_PENDING', 'Ask again', {
            details: 'settling',
            retryAfterSeconds: 1.2,
            cause,
          })
        })
      },
    })
    const response = await fetch(url)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await response.json()).toEqual({
      code: 'PAYMENT_PENDING',
      message: 'Ask again',
      details: 'settling',
    })
    expect(await log.line('request failed')).toMatchObject({
      level: 'warn',
      error: { message: 'Ask again', cause: { message: 'no answer from 10.0.0.7' } },
    })
  })

  test('are a neutral 500 for any other error, which is logged with its cause', async () => {
    const { url, log } = await serve({
      routes(app) {
        app.get('/', async (req) => {
          await Promise.reject(
            Object.assign(new Error('select failed at 10.0.0.7', { cause: new Error('reset') }), {
              status: 404,
            }),
          )
          return requestId(req)
        })
      },
    })
    const response = await fetch(url, { headers: { 'x-request-id': 'r-1' } })
    const text = await response.text()
    expect(response.status).toBe(500)
    expect(JSON.parse(text)).toMatchObject({ code: 'INTERNAL_ERROR' })
    expect(text).not.toContain('10.0.0.7')
    expect(await log.line('request failed')).toMatchObject({
      level: 'error',
      requestId: 'r-1',
      error: { message: 'select failed at 10.0.0.7', cause: { message: 'reset' } },
    })
  })

  test('are 503 with Retry-After if a dependency is unavailable, and the log has the reason', async () => {
    const refused = new Error('connect ECONNREFUSED 10.0.0.7')
    const { url, log } = await serve({
      unavailableReason: (error) => (error === refused ? 'connection refused' : undefined),
      routes(app) {
        app.get('/', () => Promise.reject(refused))
        app.get('/settle', () => {
          throw new ApiError('SETTLEMENT_FAILED', 'Ask again', { cause: refused })
        })
      },
    })
    const response = await fetch(url)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ code: 'UNAVAILABLE' })
    expect(text).not.toMatch(/10\.0\.0\.7|refused/)
    expect(await errorOf(await fetch(`${url}/settle`))).toEqual([500, 'SETTLEMENT_FAILED'])
    await log.flushed()
    expect(log.lines().filter(({ message }) => message === 'request failed')).toMatchObject([
      {
        level: 'error',
        code: 'UNAVAILABLE',
        reason: 'connection refused',
        error: { message: refused.message },
      },
      { level: 'error', code: 'SETTLEMENT_FAILED', reason: 'connection refused' },
    ])
  })

  test.each<[ErrorCode, Record<string, string>, string | null]>([
    ['INVALID_TOKEN', {}, 'Bearer'],
    ['INVALID_TOKEN', { authorization: 'Bearer x' }, 'Bearer error="invalid_token"'],
    ['EXPIRED_TOKEN', { authorization: 'Bearer x' }, 'Bearer error="invalid_token"'],
    ['UNAUTHORIZED', {}, 'Bearer'],
    ['REVOKED_TOKEN', { authorization: 'Bearer x' }, null],
    ['INVALID_SIGNATURE', {}, null],
  ])('for %s with the headers %j have the challenge %s', async (code, headers, challenge) => {
    const { url } = await serve({
      routes(app) {
        app.get('/', () => {
          throw new ApiError(code, 'No')
        })
      },
    })
    expect((await fetch(url, { headers })).headers.get('www-authenticate')).toBe(challenge)
  })

  test('name the challenge of the error', async () => {
    const { url } = await serve({
      routes(app) {
        app.get('/', () => {
          throw new ApiError('UNAUTHORIZED', 'No', { challenge: 'ClientKey' })
        })
      },
    })
    expect((await fetch(url)).headers.get('www-authenticate')).toBe('ClientKey')
  })

  test('destroy the connection if the response has begun', async () => {
    const { url, log } = await serve({
      routes(app) {
        app.get('/', (_req, res) => {
          res.writeHead(200, { 'content-length': '100' }).write('some')
          throw new Error('broke')
        })
      },
    })
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow()
    expect(await log.line('request')).toMatchObject({ status: 200, aborted: true })
  })

  test('do not change a complete response; the error is logged', async () => {
    const { url, log } = await serve({
      routes(app) {
        app.get('/', (_req, res) => {
          res.json({ done: true })
          throw new Error('late')
        })
      },
    })
    expect(await (await fetch(url)).json()).toEqual({ done: true })
    expect(await log.line('request failed')).toMatchObject({ error: { message: 'late' } })
  })
})

describe('paths', () => {
  const routes = (app: express.Express) => {
    app.get('/plans/:id', (req, res) => void res.json(req.params.id))
    app.post('/plans/:id', (_req, res) => void res.json('post'))
    const api = express.Router()
    api.post('/settle', (_req, res) => void res.json('settled'))
    registerAllowedMethods(api)
    app.use('/api/v1', api)
  }

  test('without a route are 404', async () => {
    const { url, log } = await serve({ routes })
    expect(await (await fetch(`${url}/nothing?x=1`)).json()).toEqual({
      code: 'NOT_FOUND',
      message: 'Nothing is served at this path; see GET /openapi.json or GET /llms.txt',
    })
    expect(await log.line('request')).toMatchObject({ path: '/nothing', status: 404, code: 'NOT_FOUND' })
    expect(await errorOf(await fetch(`${url}/api/v1/nothing`))).toEqual([404, 'NOT_FOUND'])
  })

  test('served with other methods only are 405 with Allow', async () => {
    const { url } = await serve({ routes })
    const own = await fetch(`${url}/plans/1`, { method: 'DELETE' })
    expect([own.headers.get('allow'), ...(await errorOf(own))]).toEqual([
      'GET, POST, HEAD',
      405,
      'METHOD_NOT_ALLOWED',
    ])
    const below = await fetch(`${url}/api/v1/settle`)
    expect([below.headers.get('allow'), ...(await errorOf(below))]).toEqual([
      'POST',
      405,
      'METHOD_NOT_ALLOWED',
    ])
  })

  test('with a broken percent encoding are 400', async () => {
    const { url, log } = await serve({ routes })
    expect(await errorOf(await fetch(`${url}/plans/%E0%A4%A`))).toEqual([400, 'INVALID_REQUEST'])
    expect(log.lines().filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('each request', () => {
  const routes = (app: express.Express) => {
    app.get('/calls/:id', (req, res) => {
      res.locals.caller = `of ${req.params.id}`
      res.json(requestId(req))
    })
    const api = express.Router()
    api.get('/calls/:id', (req, res) => void res.json(req.params.id))
    app.use('/api/v1', api)
  }

  test('has an id: its own if well-formed, else a new one', async () => {
    const { url } = await serve({ routes })
    const idFor = async (headers: Record<string, string>) => {
      const response = await fetch(`${url}/calls/1`, { headers })
      expect(await response.json()).toBe(response.headers.get('x-request-id'))
      return response.headers.get('x-request-id')
    }
    expect(await idFor({ 'x-request-id': 'Trace_1.a-b' })).toBe('Trace_1.a-b')
    for (const malformed of ['a b', 'x'.repeat(65), '"><script>'])
      expect(await idFor({ 'x-request-id': malformed })).toMatch(/^[0-9a-f-]{36}$/)
    expect(await idFor({})).not.toBe(await idFor({}))
  })

  test('is one log line without its query, headers or body', async () => {
    const { url, log } = await serve({ routes })
    await fetch(`${url}/calls/7?token=hunter2`, {
      headers: { authorization: 'Bearer hunter2', 'x-payment': 'hunter2', 'x-request-id': 'r-2' },
    })
    const line = await log.line('request')
    expect(Object.keys(line)).toEqual([
      'time',
      'level',
      'service',
      'message',
      'method',
      'path',
      'status',
      'durationMs',
      'requestId',
    ])
    expect(line).toMatchObject({ method: 'GET', path: '/calls/7', status: 200, requestId: 'r-2' })
    expect(log.text()).not.toContain('hunter2')
    expect(log.lines()).toHaveLength(1)
  })

  test('gets a full response even with If-None-Match', async () => {
    const { url } = await serve({ routes: (app) => app.get('/', (_req, res) => void res.json({ ok: true })) })
    const response = await fetch(url, { headers: { 'if-none-match': '*' } })
    expect([response.status, await response.json()]).toEqual([200, { ok: true }])
  })

  test('is reported to onCompleted with its route pattern, duration and locals', async () => {
    const completed: CompletedRequest[] = []
    let time = 0
    const { url } = await serve({
      routes,
      now: () => new Date((time += 250)),
      onCompleted: (request) => completed.push(request),
    })
    await fetch(`${url}/calls/7`)
    await fetch(`${url}/guess/7`)
    while (completed.length < 2) await new Promise(setImmediate)
    expect(completed).toMatchObject([
      { method: 'GET', route: '/calls/:id', status: 200, seconds: 0.25, locals: { caller: 'of 7' } },
      { method: 'GET', route: 'none', status: 404, seconds: 0.25 },
    ])
  })

  test.each([
    ...['/calls/7?a=/b/c', '/calls/7#/x/y/z', '/calls/7?#/x', 'http://any.example/calls/7#/x/y'],
    ...['/api\\v1/calls/7#', '/API/v1/calls/7\\#', '//api/v1/calls/7#', '*'],
    ...['http://any.example:99999/calls/7', 'http://any%/calls/7', 'http://any@other/api/v1/calls/7'],
  ])('to %j is reported with a registered route or none', async (target) => {
    const completed: CompletedRequest[] = []
    const { raw } = await serve({ routes, onCompleted: (request) => completed.push(request) })
    const head = `GET ${target} HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n`
    await raw(Buffer.from(head, 'latin1'))
    while (completed.length < 1) await new Promise(setImmediate)
    expect(['/calls/:id', '/api/v1/calls/:id', 'none']).toContain(completed[0]?.route)
  })

  test('is reported as 499 if the client disconnects before the response', async () => {
    const completed: CompletedRequest[] = []
    const { port, log, server } = await serve({
      routes: (app) => app.get('/slow', () => undefined),
      onCompleted: (request) => completed.push(request),
    })
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /slow HTTP/1.1\r\nHost: any.example\r\n\r\n')
    await once(server, 'request')
    socket.destroy()
    expect(await log.line('request')).toMatchObject({ status: 499, aborted: true })
    while (completed.length < 1) await new Promise(setImmediate)
    expect(completed).toMatchObject([{ route: '/slow', status: 499 }])
  })

  test('gets restrictive security headers, and none that names the server software', async () => {
    const { url } = await serve({ routes })
    const { headers } = await fetch(`${url}/calls/1`)
    expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('strict-transport-security')).toContain('max-age=')
    expect(headers.get('x-powered-by')).toBeNull()
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('pages of other origins', () => {
  const cors = {
    origins: ['https://wallet.example'],
    allowedHeaders: ['x-payment'],
    exposedHeaders: ['X-PAYMENT-RESPONSE'],
  }
  const from = (origin: string) => ({ headers: { origin } })

  test('may call if they are listed, and read the exposed headers, also of errors', async () => {
    const { url } = await serve({ routes: echo, cors })
    const preflight = await fetch(`${url}/echo`, {
      method: 'OPTIONS',
      headers: { ...from('https://wallet.example').headers, 'access-control-request-method': 'POST' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('x-payment')
    expect(preflight.headers.get('access-control-max-age')).toBe('600')

    const refused = await fetch(`${url}/nothing`, from('https://wallet.example'))
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://wallet.example')
    expect(refused.headers.get('access-control-expose-headers')).toContain('X-PAYMENT-RESPONSE')
    for (const name of ['X-Request-Id', 'Allow', 'Retry-After', 'RateLimit', 'WWW-Authenticate'])
      expect(refused.headers.get('access-control-expose-headers')?.split(',')).toContain(name)
  })

  test('may not call if they are not listed', async () => {
    const { url } = await serve({ routes: echo, cors })
    const response = await fetch(`${url}/nothing`, from('https://evil.example'))
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('may all call if every origin is allowed', async () => {
    const { url } = await serve({ routes: echo, cors: { origins: '*' } })
    expect(
      (await fetch(`${url}/nothing`, from('https://any.example'))).headers.get('access-control-allow-origin'),
    ).toBe('*')
  })
})

test('the app also runs without createServer, as in supertest', async () => {
  const app = createBaseApp({
    logger: readableLog().logger,
    now: () => new Date(),
    routes(mounted) {
      mounted.use(bodyOf(createBodyReader(), { limitBytes: 100 }))
      echo(mounted)
    },
  })
  await supertest(app)
    .post('/echo')
    .send({ a: 1 })
    .expect(200, { body: { a: 1 } })
})
