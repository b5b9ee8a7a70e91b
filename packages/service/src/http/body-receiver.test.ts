import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type Request, type Response } from 'express'
import { ApiError } from '../errors'
import { readableLog } from '../testing/log'
import { createBaseApp } from './app'
import { type BodyOptions, createBodyReader, releaseBody } from './body'
import { closeServer, createServer, listen } from './server'

type Handler = (req: Request, res: Response) => unknown
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const MIB = 1_048_576
const SHARE_MIB = 16
const SLOTS = 128

async function serveBodies(
  options: Partial<BodyOptions> = {},
  handler: Handler = (_req, res) => void res.json('read'),
) {
  const readBody = createBodyReader()
  const app = createBaseApp({
    logger: readableLog().logger,
    now: () => new Date(),
    trustProxy: 1,
    routes(mounted) {
      mounted.post('/', async (req, res) => {
        const sender = req.get('sender')
        await readBody(req, res, { limitBytes: MIB, ...(sender === undefined ? {} : { sender }), ...options })
        await handler(req, res)
      })
    },
  })
  const server = createServer(app)
  closing.push(() => closeServer(server, { graceSeconds: 0 }))
  await listen(server, { port: 0, host: '127.0.0.1' })
  return { server, port: (server.address() as AddressInfo).port }
}

type Sent = { length?: number; chunked?: boolean; sender?: string; address?: string; type?: string }

const headOf = ({ length, sender, address, type = 'application/json' }: Sent) =>
  [
    'POST / HTTP/1.1',
    'Host: a',
    `Content-Type: ${type}`,
    length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    ...(sender === undefined ? [] : [`Sender: ${sender}`]),
    ...(address === undefined ? [] : [`X-Forwarded-For: ${address}`]),
    '',
    '',
  ].join('\r\n')

async function open(port: number, text: string) {
  const socket: Socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  const response = once(socket, 'data').then(([data]) => String(data).split('\r\n')[0])
  return { socket, response }
}
type Connection = Awaited<ReturnType<typeof open>>
async function stallTimes(count: number, port: number, sent: (index: number) => Sent) {
  const stalled: Connection[] = []
  for (let index = 0; index < count; index++) stalled.push(await open(port, `${headOf(sent(index))}{`))
  return stalled
}
const firstResponse = (connections: Connection[]) => Promise.race(connections.map(({ response }) => response))
const upload = async (port: number, sent: Sent & { text?: string } = {}) => {
  const { text = '{}', ...rest } = sent
  const { response } = await open(port, headOf({ ...rest, length: text.length }) + text)
  return response
}
const OK = 'HTTP/1.1 200 OK'
const REFUSED = 'HTTP/1.1 503 Service Unavailable'

describe('the rate limit', () => {
  test('is called before the body is read, with a point for each 16 KiB', async () => {
    const calls: number[] = []
    const { port } = await serveBodies({
      limit(points) {
        calls.push(points)
        throw new ApiError('RATE_LIMITED', 'Wait', { retryAfterSeconds: 1 })
      },
    })
    for (const length of [0, 2, 16_384, 16_385, MIB, MIB + 1]) {
      const { response } = await open(port, headOf({ length }))
      expect(await response).toBe('HTTP/1.1 429 Too Many Requests')
    }
    expect(calls).toEqual([1, 1, 1, 2, 64, 1])
  })

  test('is called with the remaining points of a chunked body before the body is parsed', async () => {
    const calls: number[] = []
    const { port } = await serveBodies({
      limit(points) {
        calls.push(points)
        return points > 1 ? Promise.reject(new ApiError('RATE_LIMITED', 'Wait')) : Promise.resolve()
      },
    })
    const text = '{'.padEnd(40_000)
    const { response } = await open(port, `${headOf({})}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    expect(await response).toBe('HTTP/1.1 429 Too Many Requests')
    expect(calls).toEqual([1, 2])
  })
})

describe('concurrent uploads', () => {
  test('have a memory limit per sender, which does not affect others; small bodies are exempt', async () => {
    const { port } = await serveBodies()
    const stalled = await stallTimes(SHARE_MIB + 1, port, () => ({ sender: 'a', length: MIB }))
    expect(await firstResponse(stalled)).toBe(REFUSED)
    expect(await upload(port, { sender: 'a' })).toBe(OK)
    expect(await upload(port, { sender: 'b', text: '{}'.padEnd(MIB) })).toBe(OK)
    expect(await upload(port, { text: '{}'.padEnd(MIB) })).toBe(OK)
  })

  test('have a limit in number per sender, above which the oldest is evicted', async () => {
    const { port } = await serveBodies()
    const stalled = await stallTimes(SLOTS + 1, port, () => ({ sender: 'a', length: 100 }))
    expect(await stalled[0]!.response).toBe(REFUSED)
    expect(await upload(port, { sender: 'b' })).toBe(OK)
    expect(await upload(port, { sender: 'a' })).toBe(OK)
  })

  test('that stall are evicted for others of the same sender', async () => {
    const { port } = await serveBodies()
    const stalled = await stallTimes(SHARE_MIB, port, () => ({ sender: 'a', length: MIB }))
    let response: string | undefined
    for (const deadline = Date.now() + 20_000; response !== OK && Date.now() < deadline;)
      response = await upload(port, { sender: 'a', text: '{}'.padEnd(MIB) })
    expect(response).toBe(OK)
    expect(await stalled[0]!.response).toBe(REFUSED)
  })

  test('of unauthenticated senders do not use the limits of authenticated ones', async () => {
    const { port } = await serveBodies()
    await stallTimes(64, port, (count) => ({ length: MIB, address: `198.51.${count}.1` }))
    expect(await upload(port, { sender: 'a', text: '{}'.padEnd(MIB) })).toBe(OK)
    expect(await upload(port)).toBe(OK)
  })

  test('from one address have a limit over all senders', async () => {
    const { port } = await serveBodies()
    const address = '203.0.113.7'
    const stalled = await stallTimes(2 * SHARE_MIB + 1, port, (count) => ({
      sender: `${count % 3}`,
      address,
      length: MIB,
    }))
    expect(await firstResponse(stalled)).toBe(REFUSED)
    expect(await upload(port, { sender: 'other', address: '203.0.113.8', text: '{}'.padEnd(MIB) })).toBe(OK)
  })

  test('in chunks count as large only above the small size', async () => {
    const { port } = await serveBodies()
    const stalled = await Promise.all(
      Array.from({ length: 4 * SHARE_MIB }, () => open(port, `${headOf({ sender: 'a' })}1\r\n{\r\n`)),
    )
    expect(await upload(port, { sender: 'a', text: '{}'.padEnd(MIB) })).toBe(OK)
    const [first] = stalled
    first!.socket.write('1\r\n}\r\n0\r\n\r\n')
    expect(await first!.response).toBe(OK)
  })

  test('hold their memory until the response closes, or they are released', async () => {
    const waiting: Response[] = []
    const { port } = await serveBodies({}, (req, res) => {
      if (req.get('x-forwarded-for') === '192.0.2.1') releaseBody(req)
      waiting.push(res)
    })
    const text = '{}'.padEnd(MIB)
    const call = (address: string) => open(port, headOf({ sender: 'a', address, length: MIB }) + text)
    const until = async (count: number) => {
      while (waiting.length < count) await new Promise(setImmediate)
    }
    for (let count = 1; count <= SHARE_MIB; count++) {
      await call('192.0.2.1')
      await until(count)
    }
    for (let count = 1; count <= SHARE_MIB; count++) {
      await call('192.0.2.2')
      await until(SHARE_MIB + count)
    }
    expect(await upload(port, { sender: 'a', text })).toBe(REFUSED)
    waiting.at(-1)!.json('read')
    await once(waiting.at(-1)!, 'close')
    await call('192.0.2.2')
    await until(2 * SHARE_MIB + 1)
  })
})
