import { closeLater } from './closing'
import { EventEmitter, once } from 'node:events'
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'

export type ReceivedWebhook = { id: string; headers: IncomingHttpHeaders; text: string; subject: string }
type Respond = (res: ServerResponse, received: ReceivedWebhook) => void

/** An endpoint of a merchant on this machine. Takes everything, unless `respond` says otherwise. */
export async function startWebhookReceiver(respond: Respond = (res) => void res.writeHead(204).end()) {
  const received: ReceivedWebhook[] = []
  const arrivals = new EventEmitter().setMaxListeners(0)
  let behaviour = respond
  const server = http.createServer((req, res) => {
    void readText(req).then((text) => {
      const { data } = JSON.parse(text) as { data: { subject?: string } }
      const one = {
        id: String(req.headers['webhook-id']),
        headers: req.headers,
        text,
        subject: data.subject ?? '',
      }
      received.push(one)
      arrivals.emit('one')
      behaviour(res, one)
    })
  })
  let port = 0
  const listen = async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    ;({ port } = server.address() as AddressInfo)
  }
  const stop = async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  await listen()
  closeLater(stop)
  return {
    url: `http://127.0.0.1:${port}/hooks?shop=1`,
    received,
    /** Stops listening: connections are refused. */
    stop,
    listen,
    respond: (next: Respond) => void (behaviour = next),
    async until(count: number) {
      while (received.length < count) await once(arrivals, 'one')
      return received
    },
  }
}

async function readText(req: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}
