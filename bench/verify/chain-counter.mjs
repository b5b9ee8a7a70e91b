import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { requireFrom } from './borrowed.mjs'

const { Pool } = requireFrom('packages/chains')('undici')

/** A proxy of a JSON-RPC node that counts HTTP round trips and the calls in them. */
export async function startChainCounter(rpcUrl) {
  const node = new Pool(rpcUrl, { connections: 64 })
  let calls = 0
  let roundTrips = 0

  async function pass(req, res) {
    const body = await text(req)
    const message = JSON.parse(body)
    roundTrips++
    calls += Array.isArray(message) ? message.length : 1
    const headers = { 'content-type': 'application/json' }
    const answer = await node.request({ method: 'POST', path: '/', headers, body })
    res.writeHead(answer.statusCode, headers).end(await answer.body.text())
  }

  const server = createServer((req, res) => void pass(req, res).catch(() => res.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    rpcUrl: `http://127.0.0.1:${server.address().port}`,
    counted: () => ({ calls, roundTrips }),
    async close() {
      server.closeAllConnections()
      server.close()
      await node.destroy()
    },
  }
}
