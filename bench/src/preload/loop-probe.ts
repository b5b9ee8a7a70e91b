/** Preloaded into a measured process: reports its event loop's busy time and longest blocks, and its memory. */
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const server = createServer((_req, res) => {
  const { active } = performance.eventLoopUtilization()
  const figures = { activeMs: active, longestMs: delay.max / 1e6, rssBytes: process.memoryUsage().rss }
  delay.reset()
  res.end(JSON.stringify(figures))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ loopProbe: port })}\n`)
})
server.unref()
