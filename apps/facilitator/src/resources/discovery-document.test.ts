import { type Resolve } from '@tollgate/service'
import { closeAll, closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { type LookupAddress } from 'node:dns'
import http, { type RequestListener } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { checkOwnership } from './discovery-document'

const OWNER = '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3'

afterAll(closeAll)

async function startOrigin(listener: RequestListener) {
  let connections = 0
  const asked: http.IncomingMessage[] = []
  const server = http.createServer((req, res) => {
    asked.push(req)
    listener(req, res)
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, port, asked, connections: () => connections }
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'

const document = (registrants: unknown, others: object = {}) =>
  JSON.stringify({ version: 1, resources: ['POST /weather'], registrants, ...others })
const serving =
  (status: number, body: string, headers: http.OutgoingHttpHeaders = {}): RequestListener =>
  (_req, res) =>
    res.writeHead(status, headers).end(body)

const check = (
  origin: string,
  options: { isProduction?: boolean; resolve?: Resolve; signal?: AbortSignal } = {},
) => checkOwnership(origin, OWNER, { isProduction: false, signal: new AbortController().signal, ...options })

describe('an origin', () => {
  test('that names the owner proves ownership, also with other members, by a request without credentials', async () => {
    const { origin, asked } = await startOrigin(
      serving(200, document(['another', OWNER], { ownershipProofs: ['0x00'], items: [] })),
    )
    expect(await check(origin)).toBe('verified')
    expect(asked.map(({ url, method }) => [method, url])).toEqual([['GET', '/.well-known/x402']])
    expect(Object.keys(asked[0]!.headers).sort()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ])
  })

  test.each([
    ['names others', serving(200, document(['another']))],
    ['names it only as part of a word', serving(200, document([`x${OWNER}`]))],
    ['names it in another member', serving(200, document([], { owner: OWNER }))],
    ['names it in another form', serving(200, document(OWNER))],
    ['names more than a hundred', serving(200, document(Array(101).fill(OWNER)))],
    ['has no JSON', serving(200, `<html>${OWNER}`)],
    ['has no document', serving(404, document([OWNER]))],
    ['forbids it', serving(403, document([OWNER]))],
  ])('that %s does not prove it', async (_, listener) => {
    expect(await check((await startOrigin(listener)).origin)).toBe('not_listed')
  })

  test('that redirects proves nothing, and the redirect is not followed', async () => {
    const other = await startOrigin(serving(200, document([OWNER])))
    const location = `${other.origin}/.well-known/x402`
    const { origin } = await startOrigin(serving(302, document([OWNER]), { location }))
    expect([await check(origin), other.connections()]).toEqual(['not_listed', 0])
  })

  test.each([
    ['fails', serving(500, document([OWNER]))],
    ['sends interim responses', serving(429, document([OWNER]))],
    ['cuts the connection', ((_req, res) => res.destroy()) satisfies RequestListener],
    ['has a document of more than 64 KiB', serving(200, document([OWNER], { filler: 'x'.repeat(65_536) }))],
    [
      'sends an endless document',
      ((_req, res) => {
        const write = () => {
          while (!res.destroyed && res.write(Buffer.alloc(16_384)));
        }
        res.on('drain', write)
        write()
      }) satisfies RequestListener,
    ],
  ])('that %s says nothing', async (_, listener) => {
    expect(await check((await startOrigin(listener)).origin)).toBe('unreachable')
  })

  test('that switches protocols proves nothing', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.write(SWITCHING))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closeLater(() => void server.close())
    const { port } = server.address() as AddressInfo
    expect(await check(`http://127.0.0.1:${port}`)).toBe('unreachable')
  })

  test('that does not respond is abandoned when the service stops', async () => {
    const stopping = new AbortController()
    const { origin } = await startOrigin(() => stopping.abort())
    const startedAt = performance.now()
    expect(await check(origin, { signal: stopping.signal })).toBe('unreachable')
    expect(await check(origin, { signal: stopping.signal })).toBe('unreachable')
    expect(performance.now() - startedAt).toBeLessThan(4_900)
  })

  test('that does not respond is abandoned after five seconds', async () => {
    const { origin, asked } = await startOrigin(() => undefined)
    const startedAt = performance.now()
    expect(await check(origin)).toBe('unreachable')
    expect(performance.now() - startedAt).toBeGreaterThan(4_900)
    expect(asked).toHaveLength(1)
  }, 60_000)
})

describe('no connection is made', () => {
  test('in production to this machine, by address or by name, by http or https', async () => {
    const { port, connections } = await startOrigin(serving(200, document([OWNER])))
    for (const protocol of ['http', 'https'])
      for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0'])
        expect([host, await check(`${protocol}://${host}:${port}`, { isProduction: true })]).toEqual([
          host,
          'unreachable',
        ])
    expect(connections()).toBe(0)
  })

  test.each([false, true])(
    'to a private address behind a public name (production: %s)',
    async (isProduction) => {
      const answers: LookupAddress[][] = [
        [{ address: '10.0.0.1', family: 4 }],
        [{ address: '169.254.169.254', family: 4 }],
        [{ address: 'fd00::1', family: 6 }],
        [
          { address: '8.8.8.8', family: 4 },
          { address: '192.168.0.1', family: 4 },
        ],
        [],
      ]
      for (const addresses of answers)
        for (const protocol of ['http', 'https'])
          expect(
            await check(`${protocol}://shop.example`, {
              isProduction,
              resolve: () => Promise.resolve(addresses),
            }),
          ).toBe('unreachable')
    },
  )

  test('by http to a public address', async () => {
    const resolve = () => Promise.resolve([{ address: '8.8.8.8', family: 4 }])
    expect(await check('http://shop.example', { resolve })).toBe('unreachable')
    expect(await check('http://8.8.8.8')).toBe('unreachable')
  })
})

test('a name is resolved once, and the connection goes to the address that was checked', async () => {
  const { port, asked } = await startOrigin(serving(200, document([OWNER])))
  const resolved: string[] = []
  const resolve = (name: string) => {
    resolved.push(name)
    return Promise.resolve([{ address: resolved.length === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }])
  }
  expect(await check(`http://shop.example:${port}`, { resolve })).toBe('verified')
  expect([resolved, asked[0]!.headers.host]).toEqual([['shop.example'], `shop.example:${port}`])
})
