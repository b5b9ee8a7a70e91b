import { type Request, type Response as ExpressResponse } from 'express'
import { EventEmitter, once } from 'node:events'
import { createLogger } from '../logger'
import { createBaseApp } from './app'
import { createBulkhead } from './bulkhead'
import { closeServer, createServer, listen } from './server'

const silent = createLogger({ service: 'test', level: 'error' })

test('requests run in order; a disconnected one leaves the queue, and one above the limit is refused', async () => {
  const limited = createBulkhead({ atOnce: 1, waiting: 2, perCaller: 10 })
  const began = new EventEmitter()
  const closed = new EventEmitter()
  const ran: unknown[] = []
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const server = createServer(
    createBaseApp({
      logger: silent,
      now: () => new Date(),
      routes(app) {
        app.use((req, res, next) => {
          res.once('close', () => closed.emit(req.path))
          began.emit(req.path)
          next()
        })
        const handler = async ({ path }: Request, res: ExpressResponse) => {
          ran.push(path)
          await finished
          res.json(path)
        }
        app.get('/:name', limited(handler))
      },
    }),
  )
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  const ask = async (path: string, init: RequestInit = {}) => {
    const arrived = once(began, path)
    const answer = fetch(`http://127.0.0.1:${port}${path}`, init).catch(() => undefined)
    await arrived
    return { status: answer.then((response) => response?.status) }
  }

  const first = await ask('/first')
  const leaving = new AbortController()
  await ask('/left', { signal: leaving.signal })
  const second = await ask('/second')
  expect(await (await ask('/refused')).status).toBe(503)
  const left = once(closed, '/left')
  leaving.abort()
  await left
  const third = await ask('/third')
  finish()
  expect(await Promise.all([first.status, second.status, third.status])).toEqual([200, 200, 200])
  expect(ran).toEqual(['/first', '/second', '/third'])
  await closeServer(server, { graceSeconds: 0 })
})
