import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo } from 'node:net'

export type LyingGateway = Awaited<ReturnType<typeof startLyingGateway>>

/**
 * The real gateway, but for purchases: `denied` takes each payment and says that it was refused; `unserved` says that each was
 * credited, and goes on to ask for payment; `dear` asks for ten times the listed price.
 */
export async function startLyingGateway(gateway: string, lie: 'denied' | 'unserved' | 'dear') {
  const payments: string[] = []
  const server = createServer((request, response) => {
    const payment = request.headers['payment-signature']
    if (typeof payment === 'string') payments.push(payment)
    if (typeof payment === 'string' && lie === 'unserved') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ pricing_plan_id: 1, credits: 100, transaction: `0x${'1'.repeat(64)}` }))
      return
    }
    void forward(gateway, request).then(async (answer) => {
      const required = answer.headers.get('payment-required')
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        // By the test's clock, which it may move.
        date: new Date(Date.now()).toUTCString(),
        ...(required === null ? {} : { 'payment-required': lie === 'dear' ? tenfold(required) : required }),
      })
      response.end(await answer.text())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    payments,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function tenfold(required: string): string {
  const terms = JSON.parse(Buffer.from(required, 'base64').toString()) as { accepts: { amount: string }[] }
  for (const offer of terms.accepts) offer.amount += '0'
  return Buffer.from(JSON.stringify(terms)).toString('base64')
}

/** Without the payment. */
async function forward(gateway: string, request: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { authorization, 'content-type': contentType } = request.headers
  const { method = 'GET', url = '/' } = request
  return fetch(`${gateway}${url}`, {
    method,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    },
    ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
  })
}
