/** An upstream of Node, where nginx may not be installed. */
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { ANSWER } from './answer'

const HEADERS = { 'Content-Type': 'application/json', 'Content-Length': ANSWER.length }

const server = createServer((req, res) => {
  req.resume()
  res.writeHead(200, HEADERS).end(ANSWER)
})
server.listen(0, '127.0.0.1', 4096, () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
