import { serve, stopServing } from '../testing/serve'
import { createHealth, type Health } from './health'

afterEach(stopServing)

async function probed(health: Health) {
  const { url } = await serve({
    routes(app) {
      app.get('/health', health.health)
      app.get('/ready', health.ready)
    },
  })
  return async (path: string) => {
    const answer = await fetch(url + path)
    return [answer.status, await answer.json()]
  }
}

test('is ok, with the facts it is given', async () => {
  const probe = await probed(createHealth({ facts: () => ({ version: '1.0.0' }) }))
  expect(await probe('/health')).toEqual([200, { status: 'ok', version: '1.0.0' }])
})

test('is healthy but not ready while a part fails, lies down or hangs, and names it', async () => {
  const checks = {
    database: () => Promise.resolve(true),
    redis: () => Promise.resolve(false),
    chain: () => Promise.reject(new Error('no')),
    upstream: () => new Promise<boolean>(() => undefined),
  }
  const probe = await probed(createHealth({ checks, timeoutMs: 50 }))
  expect(await probe('/health')).toEqual([200, { status: 'ok' }])
  expect(await probe('/ready')).toEqual([
    503,
    { code: 'UNAVAILABLE', message: 'Not ready: no answer from redis, chain, upstream' },
  ])
})

test('is ready when every part answers', async () => {
  const probe = await probed(createHealth({ checks: { database: () => Promise.resolve(true) } }))
  expect(await probe('/ready')).toEqual([200, { status: 'ok' }])
})

test('says no to both once it is stopping', async () => {
  const health = createHealth()
  const probe = await probed(health)
  health.stopping()
  expect((await probe('/health'))[0]).toBe(503)
  expect((await probe('/ready'))[0]).toBe(503)
})
