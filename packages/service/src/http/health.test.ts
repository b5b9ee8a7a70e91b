import { serve, stopServing } from '../testing/serve'
import { createHealth, type Health } from './health'

afterEach(stopServing)

async function serveProbes(health: Health) {
  const { url } = await serve({
    routes(app) {
      app.get('/health', health.health)
      app.get('/ready', health.ready)
    },
  })
  return async (path: string) => {
    const response = await fetch(url + path)
    return [response.status, await response.json()]
  }
}

test('responds ok with the given facts', async () => {
  const probe = await serveProbes(createHealth({ facts: () => ({ version: '1.0.0' }) }))
  expect(await probe('/health')).toEqual([200, { status: 'ok', version: '1.0.0' }])
})

test('is healthy but not ready while a check fails or times out, and names it', async () => {
  const checks = {
    database: () => Promise.resolve(true),
    redis: () => Promise.resolve(false),
    chain: () => Promise.reject(new Error('no')),
    upstream: () => new Promise<boolean>(() => undefined),
  }
  const probe = await serveProbes(createHealth({ checks, timeoutMs: 50 }))
  expect(await probe('/health')).toEqual([200, { status: 'ok' }])
  expect(await probe('/ready')).toEqual([
    503,
    { code: 'UNAVAILABLE', message: 'Not ready: no answer from redis, chain, upstream' },
  ])
})

test('is ready when every check passes', async () => {
  const probe = await serveProbes(createHealth({ checks: { database: () => Promise.resolve(true) } }))
  expect(await probe('/ready')).toEqual([200, { status: 'ok' }])
})

test('both probes fail once it is stopping', async () => {
  const health = createHealth()
  const probe = await serveProbes(health)
  health.stopping()
  expect((await probe('/health'))[0]).toBe(503)
  expect((await probe('/ready'))[0]).toBe(503)
})
