import { setTimeout } from 'node:timers/promises'
import { env, readEnvironment } from '../config'
import { createServer, closeServer, listen } from '../http/server'
import { createBaseApp } from '../http/app'
import { createLogger } from '../logger'
import { run } from '../run'
import { z } from 'zod'

const mode = process.env.MODE
const logger = createLogger({ service: 'child', level: 'info' })

void run(
  'child',
  async (closing) => {
    closing.within(mode === 'stuck closer' ? 0.3 : 5)
    const { PORT } = readEnvironment(z.object({ PORT: env.port, JWT_SECRET: env.secret() }), process.env)
    closing.add('database', async () => {
      await setTimeout(20)
      logger.info('database closes')
    })
    closing.add('redis', () => {
      logger.info('redis closes')
      if (mode === 'broken closer') throw new Error('no')
    })
    if (mode === 'slow start') {
      logger.info('waiting')
      await setTimeout(60_000, undefined, { signal: closing.signal })
    }
    if (mode === 'failing start') throw new Error('no database', { cause: new Error('connect ECONNREFUSED') })

    const app = createBaseApp({ logger, now: () => new Date(), routes: () => undefined })
    const server = createServer(app)
    const { port } = await listen(server, { port: PORT, host: '127.0.0.1' })
    closing.add('server', () => closeServer(server, { graceSeconds: 1 }))
    if (mode === 'stuck closer') closing.add('stuck', () => new Promise(() => undefined))
    logger.info('listening', { port })

    if (mode === 'uncaught')
      setImmediate(() => {
        throw new Error('uncaught')
      })
    if (mode === 'unhandled') void Promise.reject(new Error('unhandled'))
    if (mode === 'talkative') for (let line = 0; line < 20_000; line++) logger.info('talk', { line })
  },
  { logger },
)
