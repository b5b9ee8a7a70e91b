import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addressedTo, generate } from './generate'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-generate-'))
const bodies: string[] = []
/** The first path is refused. */
const server = createServer((req, res) => {
  req.setEncoding('utf8')
  req.on('data', (text: string) => bodies.push(text))
  req.once('end', () => res.writeHead(req.url === '/refused' ? 503 : 200).end('an answer'))
})
const requests = () => {
  const { port } = server.address() as AddressInfo
  return addressedTo(`http://127.0.0.1:${port}`, [
    { path: '/refused', headers: {}, body: 'one' },
    { path: '/', headers: {}, body: 'two' },
  ])
}

beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => void (bodies.length = 0))

test('sends a number of calls in turn, and counts their statuses', async () => {
  const result = await generate(folder, { requests: requests(), connections: 4, until: { calls: 100 } })

  expect(result.statuses).toEqual({ '200': 50, '503': 50 })
  expect(bodies.filter((body) => body === 'one')).toHaveLength(50)
})

test('starts calls at a constant rate, and awaits them all', async () => {
  const plan = { requests: requests(), connections: 4, until: { seconds: 1.5 }, ratePerSecond: 400 }
  const { answers, latencyMs } = await generate(folder, plan)

  expect(answers).toBeGreaterThan(550)
  expect(answers).toBeLessThanOrEqual(600)
  expect(latencyMs.p50).toBeGreaterThan(0)
})

test('counts calls that cannot be sent by the code of their error', async () => {
  const unreachable = addressedTo('http://127.0.0.1:9', [{ path: '/', headers: {}, body: '' }])
  const { statuses } = await generate(folder, { requests: unreachable, connections: 1, until: { calls: 3 } })

  expect(statuses).toEqual({ ECONNREFUSED: 3 })
})
