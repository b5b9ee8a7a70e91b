import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type BenchmarkContext } from './benchmark'
import { LONG_PATH } from './gateway/chains'

const LONG_BYTES = 8_388_608

/** A node in this process that answers every request with the same block number, or with 8 MB at LONG_PATH. */
export async function startBlockNumberUpstream({
  closeLater,
}: Pick<BenchmarkContext, 'closeLater'>): Promise<string> {
  const longAnswer = Buffer.alloc(LONG_BYTES, 'x')
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      if (req.url === LONG_PATH) res.writeHead(200, { 'content-type': 'text/plain' }).end(longAnswer)
      else
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
