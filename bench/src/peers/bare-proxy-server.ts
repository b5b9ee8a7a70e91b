/** The fastest JSON proxy that Express and undici make: the bound of what the gateway can reach. Prints its port. */
import http from 'node:http'
import { type AddressInfo } from 'node:net'
import express, { type Express, type Request, type Response } from 'express'
import { Agent, type Dispatcher } from 'undici'

const upstream = process.argv[2] ?? ''
const dispatcher = new Agent({ connections: 1024, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
const HEADERS = { 'content-type': 'application/json' }

function forward(req: Request, res: Response) {
  let body: Buffer | undefined
  const parts: Buffer[] = []
  req.on('data', (chunk: Buffer) => {
    if (body === undefined) body = chunk
    else parts.push(chunk)
  })
  req.once('end', () => {
    const whole =
      parts.length === 0 ? (body ?? Buffer.alloc(0)) : Buffer.concat([body ?? Buffer.alloc(0), ...parts])
    try {
      JSON.parse(whole.toString())
    } catch {
      res.writeHead(400).end()
      return
    }
    dispatcher.dispatch(
      { origin: upstream, path: req.url, method: 'POST', headers: HEADERS, body: whole },
      answerTo(res),
    )
  })
}

function answerTo(res: Response): Dispatcher.DispatchHandler {
  let status = 0
  let type: string | string[] | undefined
  let first: Buffer | undefined
  const others: Buffer[] = []
  return {
    onRequestStart: () => undefined,
    onResponseStart(_controller, statusCode, headers) {
      status = statusCode
      type = headers['content-type']
    },
    onResponseData(_controller, chunk) {
      if (first === undefined) first = chunk
      else others.push(chunk)
    },
    onResponseEnd() {
      const start = first ?? Buffer.alloc(0)
      const whole = others.length === 0 ? start : Buffer.concat([start, ...others])
      res.writeHead(status, { 'Content-Type': type ?? 'application/json', 'Content-Length': whole.length })
      res.end(whole)
    },
    onResponseError() {
      if (!res.headersSent) res.writeHead(502)
      res.end()
    },
  }
}

/** Express otherwise sets the prototypes of both objects for every request, which costs half of the throughput. */
function createServer(app: Express): http.Server {
  class AppRequest extends http.IncomingMessage {}
  class AppResponse extends http.ServerResponse {}
  const prototypes = app as unknown as { request: object; response: object }
  Object.setPrototypeOf(AppRequest.prototype, prototypes.request)
  Object.setPrototypeOf(AppResponse.prototype, prototypes.response)
  prototypes.request = AppRequest.prototype
  prototypes.response = AppResponse.prototype
  return http.createServer(
    { IncomingMessage: AppRequest, ServerResponse: AppResponse },
    app as unknown as http.RequestListener,
  )
}

const app = express()
app.disable('x-powered-by')
app.disable('etag')
app.post('/', forward)
app.post('/megabyte', forward)
const server = createServer(app)
server.listen(0, '127.0.0.1', 4096, () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
