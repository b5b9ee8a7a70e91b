import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * The response to a call, by its JSON-RPC method: at once, after up to half a second, when the test releases
 * it, never (the connection is cut), or at once and longer than sockets and the gateway hold.
 */
export type AnswerMode = 'answer' | 'answer_late' | 'answer_held' | 'cut' | 'answer_long'

const LONGEST_MS = 500
const LONG_RESULT = `0x${'00'.repeat(16_777_216)}`

export type CountingUpstream = Awaited<ReturnType<typeof startCountingUpstream>>

/** A counting node: a real server on 127.0.0.1 that identifies calls by the JSON-RPC id of their payload. */
export async function startCountingUpstream() {
  const asked = new Map<string, number>()
  const answered = new Set<string>()
  let held: (() => void)[] = []

  async function answer(res: ServerResponse, { id, method }: { id: string; method: AnswerMode }) {
    asked.set(id, (asked.get(id) ?? 0) + 1)
    if (method === 'cut') return res.socket?.destroy()
    if (method === 'answer_late') await delay(Math.random() * LONGEST_MS)
    if (method === 'answer_held') await new Promise<void>((resolve) => held.push(resolve))
    res.once('finish', () => answered.add(id))
    return res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'answer_long' ? LONG_RESULT : '0x1' }))
  }

  const server = http.createServer((req, res) => {
    json(req).then(
      (call) => answer(res, call as { id: string; method: AnswerMode }),
      // The client was killed while it sent its request.
      () => res.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: asked as ReadonlyMap<string, number>,
    answered: answered as ReadonlySet<string>,
    release() {
      for (const resolve of held) resolve()
      held = []
    },
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
