import { type Socket } from 'node:net'
import { bytesOf, createCaller } from '../testing/callers'
import { startRaw } from '../testing/faults'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'

let gateway: TestGateway
let call: ReturnType<typeof createCaller>
beforeAll(async () => {
  gateway = await testGateway()
  const owner = gateway.wallet()
  await gateway.fund(owner.address, 1_000)
  call = createCaller(gateway, (await owner.signIn()).token)
})
afterAll(() => auditAndClose(gateway))

const lines = (...all: string[]) => all.join('\r\n')
const says =
  (text: string, { closes = false } = {}) =>
  (socket: Socket) => {
    socket.write(text, 'latin1')
    if (closes) socket.end()
  }

async function answerOf(answer: (socket: Socket, request: string) => unknown) {
  const upstream = await startRaw(answer)
  const chain_id = await gateway.chain(upstream.url)
  const received = await call({ chain_id })
  return { ...received, bytes: await bytesOf(received), upstream, chain_id }
}

describe('an answer is returned unchanged, and charged,', () => {
  const ok = 'HTTP/1.1 200 OK'
  const closes = { closes: true }
  test.each([
    ['in invalid gzip', says(lines(ok, 'content-encoding: gzip', 'content-length: 5', '', 'plain')), 'plain'],
    ['in an unknown encoding', says(lines(ok, 'content-encoding: zap', 'content-length: 2', '', 'ok')), 'ok'],
    [
      'after an interim response',
      says(lines('HTTP/1.1 103 Early Hints', 'link: </x>', '', ok, 'content-length: 2', '', 'ok')),
      'ok',
    ],
    ['of HTTP/1.0, without a length', says(lines('HTTP/1.0 200 OK', '', 'to the end'), closes), 'to the end'],
    [
      'without a length, over a connection that is closed',
      says(lines(ok, 'connection: close', '', 'to the end'), closes),
      'to the end',
    ],
    [
      'in chunks, with trailers',
      says(
        lines(
          ok,
          'transfer-encoding: chunked',
          'trailer: x-secret',
          '',
          '2',
          'ok',
          '0',
          'x-secret: 1',
          '',
          '',
        ),
      ),
      'ok',
    ],
    [
      'in chunks of one byte',
      says(lines(ok, 'transfer-encoding: chunked', '', '') + '1\r\nx\r\n'.repeat(20_000) + '0\r\n\r\n'),
      'x'.repeat(20_000),
    ],
    ['that is shorter than what follows it', says(lines(ok, 'content-length: 2', '', 'ok and more')), 'ok'],
  ])('%s', async (_, answer, expected) => {
    const { statusCode, bytes, headers, upstream } = await answerOf(answer)
    expect([statusCode, bytes?.toString('latin1'), headers['x-credits-charged']]).toEqual([
      200,
      expected,
      '1',
    ])
    expect(headers).not.toHaveProperty('x-secret')
    expect(headers).not.toHaveProperty('link')
    expect(upstream.requestCount()).toBe(1)
  })

  test.each([204, 304])('with status %i has no body', async (status) => {
    const { statusCode, bytes, headers } = await answerOf(
      says(lines(`HTTP/1.1 ${status} Nothing`, 'etag: "v1"', '', '')),
    )
    expect([statusCode, bytes?.length, headers.etag]).toEqual([status, 0, '"v1"'])
    expect(headers).not.toHaveProperty('content-length')
    expect(headers).not.toHaveProperty('transfer-encoding')
  })

  test('with an unknown status, without a second upstream', async () => {
    const { statusCode, bytes } = await answerOf(
      says(lines('HTTP/1.1 799 Odd', 'content-length: 3', '', 'odd')),
    )
    expect([statusCode, bytes?.toString()]).toEqual([799, 'odd'])
  })

  test('with the exact bytes and number of its headers', async () => {
    const { headers } = await answerOf(
      says(
        lines(
          ok,
          'content-type: text/plain; x=\u00ff\u00e9',
          'content-encoding: gzip',
          'content-encoding: br',
          'content-length: 0',
          '',
          '',
        ),
      ),
    )
    expect(headers['content-type']).toBe('text/plain; x=\u00ff\u00e9')
    expect([headers['content-encoding']].flat().join(', ')).toBe('gzip, br')
  })
})

test('bytes that an upstream sends after its answer are not an answer to the next call', async () => {
  let calls = 0
  const upstream = await startRaw((socket) => {
    calls++
    const answer = `HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nno ${calls}`
    socket.write(answer + (calls % 2 ? 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged' : ''))
  })
  const chain_id = await gateway.chain(upstream.url)
  const texts: (string | undefined)[] = []
  for (let asked = 0; asked < 6; asked++) texts.push((await bytesOf(await call({ chain_id })))?.toString())
  expect(texts).toEqual(['no 1', 'no 2', 'no 3', 'no 4', 'no 5', 'no 6'])
})

test('an upstream that answers before it has read the request affects no other call', async () => {
  const upstream = await startRaw(() => undefined, {
    onConnection: (socket) =>
      socket.once('data', () =>
        socket.end('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig'),
      ),
  })
  const chain_id = await gateway.chain(upstream.url)
  const payload = { method: 'eth_sendTransaction', params: ['x'.repeat(900_000)] }
  for (let calls = 0; calls < 5; calls++) {
    const answer = await call({ chain_id, payload })
    const text = (await bytesOf(answer))?.toString()
    if (answer.statusCode === 413) expect(text).toBe('big')
    else expect([answer.statusCode, text]).toEqual([500, expect.stringContaining('UPSTREAM_FAILED')])
  }
})

test('an idle connection to an upstream is closed before the upstream would close it', async () => {
  let closed: Promise<unknown> | undefined
  const upstream = await startRaw(says('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'), {
    onConnection: (socket) => (closed = new Promise((resolve) => socket.once('end', resolve))),
  })
  await bytesOf(await call({ chain_id: await gateway.chain(upstream.url) }))
  const tooLate = new Promise((_, reject) => setTimeout(reject, 20_000, new Error('Kept for 20 s')).unref())
  await Promise.race([closed, tooLate])
}, 30_000)
