import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type Request, type Response } from 'express'
import { ApiError } from '../errors'
import { readableLog } from '../testing/log'
import { createApp } from './app'
import { type BodyOptions, createBodyReader, releaseBody } from './body'
import { closeServer, createServer, listen } from './server'

type Handler = (req: Request, res: Response) => unknown
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const MIB = 1_048_576
/** What a sender that is known can upload at once, in MiB and in bodies. */
const SHARE = 16
const PLACES = 128

/** A server that takes the header `sender` for who sends a body; without it the sender is unknown. */
async function serveBodies(
  options: Partial<BodyOptions> = {},
  handler: Handler = (_req, res) => void res.json('read'),
) {
  const readBody = createBodyReader()
  const app = createApp({
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

/** A connection that sends bytes as they are; `answer` resolves to the first answer on it. */
async function open(port: number, text: string) {
  const socket: Socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  const answer = once(socket, 'data').then(([data]) => String(data).split('\r\n')[0])
  return { socket, answer }
}
type Connection = Awaited<ReturnType<typeof open>>
/** Bodies of which nothing comes but their beginning. */
async function stallTimes(count: number, port: number, sent: (index: number) => Sent) {
  const stalled: Connection[] = []
  for (let index = 0; index < count; index++) stalled.push(await open(port, `${headOf(sent(index))}{`))
  return stalled
}
const firstAnswer = (connections: Connection[]) => Promise.race(connections.map(({ answer }) => answer))
const whole = async (port: number, sent: Sent & { text?: string } = {}) => {
  const { text = '{}', ...rest } = sent
  const { answer } = await open(port, headOf({ ...rest, length: text.length }) + text)
  return answer
}
const OK = 'HTTP/1.1 200 OK'
const REFUSED = 'HTTP/1.1 503 Service Unavailable'

describe('the limit', () => {
  test('is asked before any of a body is read, for a point for each 16 KiB', async () => {
    const asked: number[] = []
    const { port } = await serveBodies({
      limit(points) {
        asked.push(points)
        throw new ApiError('RATE_LIMITED', 'Wait', { retryAfterSeconds: 1 })
      },
    })
    for (const length of [0, 2, 16_384, 16_385, MIB, MIB + 1]) {
      const { answer } = await open(port, headOf({ length }))
      expect(await answer).toBe('HTTP/1.1 429 Too Many Requests')
    }
    expect(asked).toEqual([1, 1, 1, 2, 64, 1])
  })

  test('is asked for the rest of a body in chunks once it is there, and before it is parsed', async () => {
    const asked: number[] = []
    const { port } = await serveBodies({
      limit(points) {
        asked.push(points)
        return points > 1 ? Promise.reject(new ApiError('RATE_LIMITED', 'Wait')) : Promise.resolve()
      },
    })
    const text = '{'.padEnd(40_000)
    const { answer } = await open(port, `${headOf({})}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    expect(await answer).toBe('HTTP/1.1 429 Too Many Requests')
    expect(asked).toEqual([1, 2])
  })
})

describe('bodies that are read at once', () => {
  test('have a bound for each sender, which takes nothing from others; small ones have none', async () => {
    const { port } = await serveBodies()
    const stalled = await stallTimes(SHARE + 1, port, () => ({ sender: 'a', length: MIB }))
    expect(await firstAnswer(stalled)).toBe(REFUSED)
    expect(await whole(port, { sender: 'a' })).toBe(OK)
    expect(await whole(port, { sender: 'b', text: '{}'.padEnd(MIB) })).toBe(OK)
    expect(await whole(port, { text: '{}'.padEnd(MIB) })).toBe(OK)
  })

  test('have a bound in number for each sender, beyond which the oldest gives way', async () => {
    const { port } = await serveBodies()
    const stalled = await stallTimes(PLACES + 1, port, () => ({ sender: 'a', length: 100 }))
    expect(await stalled[0]!.answer).toBe(REFUSED)
    expect(await whole(port, { sender: 'b' })).toBe(OK)
    expect(await whole(port, { sender: 'a' })).toBe(OK)
  })

  test('that make no progress give way to others of the same sender', async () => {
    const { port } = await serveBodies()
    const stalled = await stallTimes(SHARE, port, () => ({ sender: 'a', length: MIB }))
    let answer: string | undefined
    for (const deadline = Date.now() + 20_000; answer !== OK && Date.now() < deadline;)
      answer = await whole(port, { sender: 'a', text: '{}'.padEnd(MIB) })
    expect(answer).toBe(OK)
    expect(await stalled[0]!.answer).toBe(REFUSED)
  })

  test('of unknown senders, from many addresses, take no place of known ones', async () => {
    const { port } = await serveBodies()
    await stallTimes(64, port, (count) => ({ length: MIB, address: `198.51.${count}.1` }))
    expect(await whole(port, { sender: 'a', text: '{}'.padEnd(MIB) })).toBe(OK)
    expect(await whole(port)).toBe(OK)
  })

  test('from one address have a bound over all senders', async () => {
    const { port } = await serveBodies()
    const address = '203.0.113.7'
    const stalled = await stallTimes(2 * SHARE + 1, port, (count) => ({
      sender: `${count % 3}`,
      address,
      length: MIB,
    }))
    expect(await firstAnswer(stalled)).toBe(REFUSED)
    expect(await whole(port, { sender: 'other', address: '203.0.113.8', text: '{}'.padEnd(MIB) })).toBe(OK)
  })

  test('in chunks count as large only once they are', async () => {
    const { port } = await serveBodies()
    const stalled = await Promise.all(
      Array.from({ length: 4 * SHARE }, () => open(port, `${headOf({ sender: 'a' })}1\r\n{\r\n`)),
    )
    expect(await whole(port, { sender: 'a', text: '{}'.padEnd(MIB) })).toBe(OK)
    const [first] = stalled
    first!.socket.write('1\r\n}\r\n0\r\n\r\n')
    expect(await first!.answer).toBe(OK)
  })

  test('keep their memory until their answer is over, or they are released', async () => {
    const waiting: Response[] = []
    const { port } = await serveBodies({}, (req, res) => {
      if (req.get('x-forwarded-for') === '192.0.2.1') releaseBody(req)
      waiting.push(res)
    })
    const held = '{}'.padEnd(MIB)
    const call = (address: string) => open(port, headOf({ sender: 'a', address, length: MIB }) + held)
    const until = async (count: number) => {
      while (waiting.length < count) await new Promise(setImmediate)
    }
    for (let count = 1; count <= SHARE; count++) {
      await call('192.0.2.1')
      await until(count)
    }
    for (let count = 1; count <= SHARE; count++) {
      await call('192.0.2.2')
      await until(SHARE + count)
    }
    expect(await whole(port, { sender: 'a', text: held })).toBe(REFUSED)
    waiting.at(-1)!.json('read')
    await once(waiting.at(-1)!, 'close')
    await call('192.0.2.2')
    await until(2 * SHARE + 1)
  })
})
