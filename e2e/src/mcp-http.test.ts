import { request } from 'node:http'
import { callTool, LIMITS, spawnMcp, startHttp } from './testing/mcp-program'
import { startWorld, walletAt, type World } from './testing/world'

let world: World
beforeAll(async () => void (world = await startWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

const TOKEN = 'a token of the clients'
const initialize = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } },
})

/** The status of an `initialize`, with headers that `fetch` does not let be set. */
function statusWith(
  { port }: URL,
  headers: Record<string, string>,
  body = initialize,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, path: '/mcp', method: 'POST' },
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('tollgate mcp --http', () => {
  test('serves the public client, and ends its session when it asks', async () => {
    const server = await startHttp(world, { wallet: walletAt(1) })
    const { client, transport } = await server.connect()
    expect((await callTool(client, 'credits')).isError).toBe(false)
    const { sessionId = '' } = transport
    await transport.terminateSession()
    expect(await statusWith(server.url, { 'mcp-session-id': sessionId })).toBe(404)
    expect(await server.stop()).toBe(0)
  })

  test('refuses pages, also those of a name that leads to this machine', async () => {
    const server = await startHttp(world, { wallet: walletAt(1) })
    const { port } = server.url
    expect(await statusWith(server.url, {})).toBe(200)
    expect(await statusWith(server.url, { host: `evil.example:${port}` })).toBe(403)
    expect(await statusWith(server.url, { host: 'localhost' })).toBe(403)
    expect(await statusWith(server.url, { origin: 'https://evil.example' })).toBe(403)
    expect(await statusWith(server.url, { origin: 'null' })).toBe(403)
    expect(await statusWith(server.url, { origin: 'http://localhost:3000' })).toBe(403)
    await server.stop()
  })

  test('says that its port is taken', async () => {
    const server = await startHttp(world, { wallet: walletAt(1) })
    const args = [...LIMITS, '--http', server.url.port]
    const second = spawnMcp(world, { wallet: walletAt(1), args })
    expect(await second.exited).toBe(2)
    expect(second.output()).toContain('--http: another program listens on this port')
    await server.stop()
  })

  test('refuses bodies that are too long or no messages', async () => {
    const server = await startHttp(world, { wallet: walletAt(1) })
    expect(await statusWith(server.url, {}, 'x'.repeat(2 * 1024 * 1024))).toBe(413)
    expect(await statusWith(server.url, {}, 'not JSON')).toBe(400)
    expect(await statusWith(server.url, {}, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')).toBe(400)
    expect((await fetch(server.url)).status).toBe(400)
    expect((await fetch(new URL('/', server.url))).status).toBe(404)
    await server.stop()
  })

  test('on an address that others reach, serves only clients with the token', async () => {
    const environment = { TOLLGATE_MCP_TOKEN: TOKEN }
    const server = await startHttp(world, { wallet: walletAt(1), listen: '0.0.0.0:0', environment })
    expect(await statusWith(server.url, {})).toBe(401)
    expect(await statusWith(server.url, { authorization: 'Bearer another' })).toBe(401)
    expect(server.output()).not.toContain(TOKEN)
    const { client } = await server.connect({ authorization: `Bearer ${TOKEN}` })
    expect((await callTool(client, 'list_chains')).isError).toBe(false)
    await client.close()
    await server.stop()
  })

  test('keeps 100 of 200 sessions, those used last', async () => {
    const server = await startHttp(world, { wallet: walletAt(1) })
    const opened = []
    for (let count = 0; count < 200; count += 1) opened.push(await server.connect())
    const outcomes = []
    for (const { client } of opened)
      outcomes.push(
        await client.listTools().then(
          () => 'served',
          () => 'ended',
        ),
      )
    expect(outcomes).toEqual([
      ...Array.from({ length: 100 }, () => 'ended'),
      ...Array.from({ length: 100 }, () => 'served'),
    ])
    await Promise.all(opened.map(({ client }) => client.close()))
    expect(await server.stop()).toBe(0)
  }, 120_000)
})
