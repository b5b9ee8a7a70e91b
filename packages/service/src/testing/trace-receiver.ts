import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'

export type ReceivedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  name: string
  kind: number
  attributes: { key: string; value: Record<string, unknown> }[]
  links?: { traceId: string; spanId: string }[]
  status?: { code?: number }
}
type Exported = { resourceSpans: { resource: object; scopeSpans: { spans: ReceivedSpan[] }[] }[] }

const accept = (res: ServerResponse) =>
  void res.writeHead(200, { 'content-type': 'application/json' }).end('{}')

/** An OTLP/HTTP endpoint on this machine. */
export async function startTraceReceiver(respond: (res: ServerResponse) => void = accept) {
  const requests: { path: string; headers: IncomingHttpHeaders; text: string }[] = []
  const arrivals = new EventEmitter()
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => (text += chunk.toString()))
    req.on('end', () => {
      requests.push({ path: req.url ?? '', headers: req.headers, text })
      respond(res)
      arrivals.emit('request')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const exports = () => requests.map(({ text }) => JSON.parse(text) as Exported)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    resources: () => exports().flatMap(({ resourceSpans }) => resourceSpans.map(({ resource }) => resource)),
    spans: () =>
      exports().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    async untilAsked() {
      if (requests.length === 0) await once(arrivals, 'request')
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
