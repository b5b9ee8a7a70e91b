import express from 'express'
import { createServer } from 'node:net'
import { createHealth } from './http/health'
import { createMetrics } from './metrics/metrics'
import { startServers } from './start-servers'
import { readableLog } from './testing/log'

test.each(['PORT', 'METRICS_PORT'])('a %s that is in use is refused by its name', async (variable) => {
  const occupied = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => occupied.once('listening', resolve))
  const { port } = occupied.address() as { port: number }
  const closers: (() => unknown)[] = []
  const { logger } = readableLog()
  const hosts = { HOST: '127.0.0.1', METRICS_HOST: '127.0.0.1' }
  const parts = { app: express(), health: createHealth(), metrics: createMetrics(), logger }
  const starting = startServers(parts, {
    environment: { PORT: 0, METRICS_PORT: 0, ...hosts, [variable]: port },
    closing: {
      add: (_, close) => void closers.push(close),
      within: () => undefined,
      signal: new AbortController().signal,
    },
    graceSeconds: 1,
  })
  await expect(starting).rejects.toMatchObject({
    problems: [
      `${variable}: port ${port} of 127.0.0.1 is in use: stop what listens there, or set another port`,
    ],
  })
  for (const close of closers) await close()
  await new Promise((resolve) => occupied.close(resolve))
})
