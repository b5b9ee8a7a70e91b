import { createServer, request, type IncomingMessage } from 'node:http'
import { type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type Recorded = {
  method: string
  path: string
  status: number
  headers: IncomingMessage['headers']
  body: string
}

const betweenTwo = new Set(['connection', 'keep-alive', 'transfer-encoding'])

export async function startRecorder(serviceUrl: string) {
  let recorded: Recorded[] = []
  const server = createServer((req, res) => {
    const { method = '', url = '/', headers } = req
    const onward = request(new URL(url, serviceUrl), { method, headers }, (answer) => {
      const { statusCode: status = 0, headers: given } = answer
      buffer(answer).then(
        (body) => {
          recorded.push({
            method,
            path: url.replace(/\?.*/, ''),
            status,
            headers: given,
            body: body.toString(),
          })
          const kept = Object.entries(given).filter(([name]) => !betweenTwo.has(name))
          res.writeHead(status, Object.fromEntries(kept)).end(body)
        },
        () => res.destroy(),
      )
    })
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = recorded
      recorded = []
      return taken
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  }
}
