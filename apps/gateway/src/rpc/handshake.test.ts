import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { answers, startUpstream } from '../testing/upstream'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
afterAll(() => auditAndClose(gateway))

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

test('a WebSocket handshake is refused at every URL of a chain, ends its connection and costs nothing', async () => {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  const { token } = await wallet.signIn()
  const authorization = `Bearer ${token}`
  const upstream = await startUpstream(answers.result())
  const chain = await gateway.chain({ category: 'cosmos', rpc: [upstream.url], rest: [upstream.url] })
  const created = await gateway.api
    .post('/keys')
    .set({ authorization })
    .send({ label: 'sockets' })
    .expect(201)
  const { key } = created.body as { key: string }
  for (const path of [`/${key}`, `/${key}/websocket`, `/${key}/rest/status`, '/websocket', '']) {
    const req = request(`${gateway.url}/v1/${chain}${path}`, { headers: { authorization, ...handshake } })
    req.end()
    const [res] = (await once(req, 'response')) as [IncomingMessage]
    expect([res.statusCode, res.headers.upgrade, res.headers.connection]).toEqual([
      426,
      'HTTP/1.1',
      'Upgrade, close',
    ])
    res.resume()
    await once(res.socket, 'close')
  }
  expect(upstream.requests).toEqual([])
  expect(await balanceOf(gateway.ledger, wallet.address)).toBe(10n)
})
