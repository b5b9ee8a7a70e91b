import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Pool } from 'undici'
import { type Place } from './contender'

/** A proxy of a JSON-RPC node that counts the HTTP requests to it, and the calls in them. */
export async function startNodeCounter({ closeLater }: Pick<Place, 'closeLater'>, rpcUrl: string) {
  const node = new Pool(rpcUrl, { connections: 128 })
  closeLater(() => node.destroy())
  const counts = { calls: 0, roundTrips: 0 }

  const server = createServer((req, res) => {
    const forward = async () => {
      const body = await text(req)
      const message = JSON.parse(body) as unknown
      counts.roundTrips++
      counts.calls += Array.isArray(message) ? message.length : 1
      const headers = { 'content-type': 'application/json' }
      const answer = await node.request({ method: 'POST', path: '/', headers, body })
      res.writeHead(answer.statusCode, headers).end(await answer.body.text())
    }
    forward().catch(() => res.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, counts: () => ({ ...counts }) }
}
