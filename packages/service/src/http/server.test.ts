import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import express, { type Express } from 'express'
import { ConfigurationError } from '../config'
import { serve, stopServing } from '../testing/serve'
import { closeServer, createServer, listen } from './server'

afterEach(stopServing)

const ok = (app: Express) => {
  app.get('/', (_req, res) => void res.json({ ok: true }))
}

describe('createServer', () => {
  test("creates requests and responses with the app's prototypes, which Express keeps", async () => {
    const seen: unknown[][] = []
    const { url, app, server } = await serve({
      routes(routed) {
        routed.get('/', (req, res) => {
          seen.push([Object.getPrototypeOf(req), Object.getPrototypeOf(res)])
          res
            .status(201)
            .set('x-a', 'b')
            .json({ accepts: req.accepts('json'), query: req.query, ip: req.ip })
        })
      },
    })
    server.prependListener('request', (req, res) => {
      seen.push([Object.getPrototypeOf(req), Object.getPrototypeOf(res)])
    })
    const answer = await fetch(`${url}/?a=1`)
    expect([answer.status, answer.headers.get('x-a'), await answer.json()]).toEqual([
      201,
      'b',
      { accepts: 'json', query: { a: '1' }, ip: '127.0.0.1' },
    ])
    const [before, after] = seen
    expect(before?.[0]).toBe(after?.[0])
    expect(before?.[1]).toBe(after?.[1])
    expect(after?.[0]).toBe((app as unknown as { request: object }).request)
    expect(Object.getPrototypeOf(after?.[0])).not.toBe(express.request)
  })

  test.each([
    ['not HTTP', 'hello\r\n\r\n', 400, 'INVALID_REQUEST'],
    ['a header without an end', 'GET / HTTP/1.1\r\nHost: a\r\nX: \u0001\r\n\r\n', 400, 'INVALID_REQUEST'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'INVALID_REQUEST',
    ],
    [
      '17 KB of headers',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17 * 1024)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
  ])('responds to %s in the error shape and closes', async (_, text, status, code) => {
    const { raw } = await serve({ routes: ok })
    const [head = '', body = ''] = (await raw(text)).split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${status} `)
    expect(head).toContain('Connection: close')
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`)
    expect(JSON.parse(body)).toMatchObject({ code })
  })

  test('closes the connection of a client that does not read, and serves a slow reader to the end', async () => {
    const size = 32 * 1024 * 1024
    const { port, server } = await serve({
      routes(app) {
        app.get('/', (_req, res) => void res.type('text').send('x'.repeat(size)))
      },
    })
    const request = () =>
      connect(port, '127.0.0.1').end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const unread = request().pause()
    const [unreadSocket] = (await once(server, 'connection')) as [Socket]
    const ended = once(unreadSocket, 'close')

    let read = 0
    for await (const chunk of request()) {
      read += (chunk as Buffer).length
      await pause(30)
    }
    expect(read).toBeGreaterThan(size)
    await ended
    expect(unreadSocket.bytesWritten).toBeGreaterThan(0)
    unread.destroy()
  })

  test('accepts 15 KB of headers', async () => {
    const { url } = await serve({ routes: ok })
    expect((await fetch(url, { headers: { x: 'x'.repeat(15 * 1024) } })).status).toBe(200)
  })
})

describe('listen', () => {
  test('names a port that is in use', async () => {
    const { port } = await serve({ routes: ok })
    const second = listen(createServer(express()), { port, host: '127.0.0.1' })
    await expect(second).rejects.toThrow(ConfigurationError)
    await expect(second).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use: stop what listens there, or set another port`,
    )
  })

  test('names an address that this machine does not have', async () => {
    await expect(listen(createServer(express()), { port: 0, host: '192.0.2.1' })).rejects.toThrow(
      'is not an address of this machine',
    )
  })
})

describe('closeServer', () => {
  const agent = new Agent({ keepAlive: true })
  afterAll(() => agent.destroy())

  const request = (url: string) =>
    new Promise<IncomingMessage>((resolve, reject) => get(url, { agent }, resolve).on('error', reject))

  test('finishes a request in flight, accepts no new one, and closes kept-alive connections', async () => {
    let reach: () => void = () => undefined
    const reached = new Promise<void>((resolve) => {
      reach = resolve
    })
    let respond: () => void = () => undefined
    const { url, server } = await serve({
      routes(app) {
        ok(app)
        app.get('/slow', async (_req, res) => {
          reach()
          await new Promise<void>((resolve) => (respond = resolve))
          res.json('finished')
        })
      },
    })
    const idle = await request(url)
    idle.resume()
    await once(idle, 'end')
    const slow = request(`${url}/slow`)
    await reached

    const closed = closeServer(server, { graceSeconds: 10 })
    await expect(fetch(url)).rejects.toThrow()
    respond()
    expect((await slow).statusCode).toBe(200)
    ;(await slow).resume()
    expect(await closed).toBe(true)
  })

  test('sends Connection: close with a response whose request arrived before, and answers a request on an idle connection', async () => {
    let respond: () => void = () => undefined
    const { port, server } = await serve({
      routes(app) {
        ok(app)
        app.get('/slow', async (_req, res) => {
          await new Promise<void>((resolve) => (respond = resolve))
          res.json('finished')
        })
      },
    })
    const open = () => {
      const socket = connect(port, '127.0.0.1')
      let received = ''
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
      return { socket, received: () => received, ended: once(socket, 'close') }
    }
    const idle = open()
    idle.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(idle.socket, 'data')
    const unused = open()
    await once(server, 'connection')
    const slow = open()
    slow.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(server, 'request')

    const closed = closeServer(server, { graceSeconds: 10 })
    respond()
    for (const { socket } of [idle, unused]) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await Promise.all([idle.ended, unused.ended, slow.ended])
    expect(await closed).toBe(true)
    expect(idle.received().match(/Connection: [\w-]+/g)).toEqual([
      'Connection: keep-alive',
      'Connection: close',
    ])
    for (const { received } of [unused, slow])
      expect(received().match(/HTTP\/1.1 200 OK|Connection: [\w-]+/g)).toEqual([
        'HTTP/1.1 200 OK',
        'Connection: close',
      ])
  })

  test('answers requests that were sent without waiting, all those that it executes', async () => {
    const executed: string[] = []
    const respond: (() => void)[] = []
    const { port, server } = await serve({
      routes(app) {
        app.get('/begun', (_req, res) => {
          executed.push('begun')
          res.write('b')
          respond.push(() => res.end('egun'))
        })
        app.get('/:name', (req, res) => {
          executed.push(req.params.name)
          respond.push(() => res.json(req.params.name))
        })
      },
    })
    const requested = (path: string) => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
    const ended = once(socket, 'close')
    socket.write(requested('first') + requested('second'))
    while (respond.length < 2) await once(server, 'request')

    const closed = closeServer(server, { graceSeconds: 10 })
    const arrived = once(server, 'request')
    socket.write(requested('begun'))
    await arrived
    const ignored = once(server, 'request')
    socket.write(requested('late'))
    await ignored
    for (const end of respond) end()
    await ended
    expect(await closed).toBe(true)
    expect(executed).toEqual(['first', 'second', 'begun'])
    expect(received.match(/"(first|second|late)"|begun|Connection: [\w-]+/g)).toEqual([
      'Connection: keep-alive',
      '"first"',
      'Connection: keep-alive',
      '"second"',
      'Connection: close',
    ])
    expect(received).toMatch(/b\r\n.*egun/s)
  })

  test('sends all of a large answer to a client that reads it slowly', async () => {
    const SIZE = 5_000_000
    const { port, server } = await serve({
      routes(app) {
        app.get('/', (_req, res) => void res.end(Buffer.alloc(SIZE, 'x')))
      },
    })
    const socket = connect(port, '127.0.0.1')
    const answered = once(server, 'request')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.pause()
    await answered
    const closed = closeServer(server, { graceSeconds: 60 })
    let received = 0
    let reads = 0
    socket.on('data', (chunk) => {
      received += chunk.length
      // Until the server has looked for idle connections several times.
      if (++reads > 3) return
      socket.pause()
      setTimeout(() => socket.resume(), 500)
    })
    socket.resume()
    await once(socket, 'close')
    expect(received).toBeGreaterThan(SIZE)
    expect(await closed).toBe(true)
  })

  test('closes unfinished requests when the time is up', async () => {
    const { url, server } = await serve({
      routes(app) {
        app.get('/hangs', (_req, res) => void res.writeHead(200).write('x'))
      },
    })
    const hanging = await request(`${url}/hangs`)
    hanging.on('error', () => undefined)
    const closed = new Promise((resolve) => hanging.on('close', resolve))
    expect(await closeServer(server, { graceSeconds: 0.1 })).toBe(false)
    await closed
  })

  test('does not wait for a connection without a request', async () => {
    const { port, server } = await serve({ routes: ok })
    const socket = connect(port, '127.0.0.1')
    await once(server, 'connection')
    const ended = once(socket, 'close')
    expect(await closeServer(server, { graceSeconds: 5 })).toBe(true)
    await ended
  })
})
