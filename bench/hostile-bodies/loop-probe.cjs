/** Preloaded into a measured process: reports its event loop's busy time and longest blocks. */
const { createServer } = require('node:http')
const { monitorEventLoopDelay } = require('node:perf_hooks')

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const server = createServer((_req, res) => {
  const { active } = performance.eventLoopUtilization()
  const figures = { activeMs: active, longestMs: delay.max / 1e6, rssBytes: process.memoryUsage().rss }
  delay.reset()
  res.end(JSON.stringify(figures))
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ loopProbe: server.address().port })))
server.unref()
