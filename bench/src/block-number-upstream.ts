import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type BenchmarkContext } from './benchmark'

/** A node in this process that answers every request with the same block number. */
export async function startUpstream({ closeLater }: Pick<BenchmarkContext, 'closeLater'>): Promise<string> {
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
