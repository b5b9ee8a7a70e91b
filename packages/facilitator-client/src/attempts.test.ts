import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import {
  calls,
  clientOf,
  everyCall,
  failureOf,
  harmlessCalls,
  kind,
  settled,
  verified,
} from './testing/client'
import { closeAll, closedPort, closeLater, json, startServer, startSocketServer } from './testing/servers'

afterEach(closeAll)

const answered = (res: ServerResponse) => json(res, 200, res.req.url === '/api/v1/settle' ? settled : others)
const others = { kinds: [kind], data: [], ...verified }
const http200 = (body: unknown) => {
  const text = JSON.stringify(body)
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

function followConnections(onBegun?: (socket: Socket, number: number) => void) {
  const begun: Socket[] = []
  const listener = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    begun.push(socket)
    onBegun?.(socket, begun.length)
  }
  subscribe('net.client.socket', listener)
  closeLater(() => unsubscribe('net.client.socket', listener))
  return begun
}

describe('without a connection', () => {
  test.each(everyCall)('%s is attempted three times', async (call) => {
    const client = clientOf(`http://127.0.0.1:${await closedPort()}`)
    const connections = followConnections()
    expect(await failureOf(calls[call](client))).toMatchObject({
      kind: 'unknown',
      message: 'The facilitator could not be reached (ECONNREFUSED)',
      status: undefined,
    })
    expect(connections).toHaveLength(3)
  })

  test.each(everyCall)('%s comes through once there is one', async (call) => {
    const port = await closedPort()
    const client = clientOf(`http://127.0.0.1:${port}`)
    const server = new Promise<Awaited<ReturnType<typeof startServer>>>((resolve) =>
      followConnections((socket, number) => {
        if (number === 1) socket.once('close', () => resolve(startServer(answered, port)))
      }),
    )
    await calls[call](client)
    expect((await server).asked).toHaveLength(1)
  })

  test.each(['settle', 'verify'] as const)('for want of an address, %s says so', async (call) => {
    const error = await failureOf(calls[call](clientOf('http://no-such-host.invalid')))
    expect(error.message).toMatch(/^The facilitator could not be reached \((ENOTFOUND|EAI_AGAIN)\)$/)
  })
})

describe('once bytes may have left', () => {
  test('settle is not retried if the connection is reset', async () => {
    const server = await startSocketServer((socket) => socket.resetAndDestroy())
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
    expect(server.connections()).toBe(1)
  })

  test('settle is not retried if the connection closes without a response', async () => {
    const server = await startSocketServer((socket) => socket.end())
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
    expect(server.connections()).toBe(1)
  })

  test('settle is not retried after an incomplete response', async () => {
    const server = await startSocketServer((socket) => socket.end(http200(settled).slice(0, -20)))
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
    expect(server.connections()).toBe(1)
  })

  test('settle is not retried if the response is not HTTP', async () => {
    const server = await startSocketServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'))
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
    expect(server.connections()).toBe(1)
  })

  test.each([429, 503])('settle is not retried after status %d', async (status) => {
    const server = await startServer((res) => json(res, status, {}, { 'retry-after': '0' }))
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({
      kind: 'unknown',
      status,
      retryAfterSeconds: 0,
    })
    expect(server.asked).toHaveLength(1)
  })

  test('settle is not retried if a kept-alive connection closes', async () => {
    let asked = 0
    const server = await startSocketServer((socket, _, received) => {
      asked = received.split('POST /api/v1/').length - 1
      if (asked === 1) socket.write(http200(verified))
      else socket.resetAndDestroy()
    })
    const client = clientOf(server.url)
    await calls.verify(client)
    expect(await failureOf(calls.settle(client))).toMatchObject({ kind: 'unknown' })
    expect([asked, server.connections()]).toEqual([2, 1])
  })

  test('verify is retried if a kept-alive connection closes', async () => {
    const server = await startSocketServer((socket, number, received) => {
      const isSecond = received.split('POST /api/v1/').length > 2
      if (number === 1 && isSecond) socket.resetAndDestroy()
      else socket.write(http200(verified))
    })
    const client = clientOf(server.url)
    await calls.verify(client)
    expect(await calls.verify(client)).toEqual(verified)
    expect(server.connections()).toBe(2)
  })
})

describe('a call without side effects', () => {
  test.each(harmlessCalls)('%s is attempted three times where the connection is reset', async (call) => {
    const server = await startSocketServer((socket) => socket.resetAndDestroy())
    expect(await failureOf(calls[call](clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
    expect(server.connections()).toBe(3)
  })

  test.each([429, 503])('is attempted three times on status %d', async (status) => {
    const server = await startServer((res) => json(res, status, { code: 'OVERLOADED' }))
    for (const call of harmlessCalls)
      expect(await failureOf(calls[call](clientOf(server.url)))).toMatchObject({ kind: 'unknown', status })
    expect(server.asked).toHaveLength(3 * harmlessCalls.length)
  })

  test('returns the response of the third attempt', async () => {
    const server = await startServer((res, number) => (number < 3 ? json(res, 503, {}) : answered(res)))
    expect(await calls.networks(clientOf(server.url))).toEqual([kind])
    expect(server.asked).toHaveLength(3)
  })

  test('pauses between attempts, longer before the last', async () => {
    const times: number[] = []
    const server = await startServer((res) => {
      times.push(performance.now())
      json(res, 503, {})
    })
    await failureOf(calls.verify(clientOf(server.url)))
    const [first = 0, second = 0, third = 0] = times
    // The minimum pauses, minus timer tolerance.
    expect([second - first > 45, third - second > 190]).toEqual([true, true])
  })

  test.each<[string, () => string]>([
    ['in seconds', () => '1'],
    ['as a date', () => new Date(Date.now() + 1_999).toUTCString()],
  ])('waits for Retry-After, in the form %s', async (_, retryAfter) => {
    const times: number[] = []
    const server = await startServer((res, number) => {
      times.push(performance.now())
      if (number === 1) json(res, 429, {}, { 'retry-after': retryAfter() })
      else answered(res)
    })
    await calls.verify(clientOf(server.url))
    const [first = 0, second = 0] = times
    expect(times).toHaveLength(2)
    expect(second - first).toBeGreaterThan(900)
  })

  test('fails at once if Retry-After exceeds the remaining time', async () => {
    const server = await startServer((res) => json(res, 503, {}, { 'retry-after': '4' }))
    const startedAt = performance.now()
    const error = await failureOf(calls.verify(clientOf(server.url, { timeoutMs: 3_900 })))
    expect(error).toMatchObject({ kind: 'unknown', status: 503, retryAfterSeconds: 4 })
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    expect(server.asked).toHaveLength(1)
  })
})

describe('every call ends within its time', () => {
  const bounds = { timeoutMs: 300, settleTimeoutMs: 300 }
  const tooLate = { kind: 'unknown', message: 'The facilitator did not respond within 300 ms' }

  test.each(everyCall)('%s, where nothing is answered', async (call) => {
    const server = await startServer(() => undefined)
    expect(await failureOf(calls[call](clientOf(server.url, bounds)))).toMatchObject(tooLate)
    expect(server.asked).toHaveLength(1)
  })

  test.each(everyCall)('%s, where an answer comes byte by byte', async (call) => {
    const server = await startServer((res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => res.write(' '), 20)
      res.once('close', () => clearInterval(drip))
    })
    expect(await failureOf(calls[call](clientOf(server.url, bounds)))).toMatchObject(tooLate)
    expect(server.asked).toHaveLength(1)
  })

  test('headers that arrive byte by byte do not extend it', async () => {
    const server = await startSocketServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Long: ')
      const drip = setInterval(() => socket.write('a'), 20)
      socket.once('close', () => clearInterval(drip))
    })
    expect(await failureOf(calls.settle(clientOf(server.url, bounds)))).toMatchObject(tooLate)
  })

  test('its attempts share one timeout', async () => {
    const server = await startServer((res, number) => {
      if (number === 1) json(res, 503, {})
    })
    expect(await failureOf(calls.verify(clientOf(server.url, bounds)))).toMatchObject(tooLate)
    expect(server.asked).toHaveLength(2)
  })

  test('and does not keep the process alive afterwards', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const server = await startServer(answered)
    const before = timers()
    await calls.settle(clientOf(server.url))
    expect(timers()).toBe(before)
  })

  test('settle has a longer timeout than the others', async () => {
    const server = await startServer((res) => setTimeout(() => answered(res), 600))
    const client = clientOf(server.url, { timeoutMs: 200 })
    expect(await calls.settle(client)).toEqual(settled)
    expect(await failureOf(calls.verify(client))).toMatchObject({ kind: 'unknown' })
  })
})
