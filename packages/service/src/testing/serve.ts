import { once } from 'node:events'
import { type Server } from 'node:http'
import { connect } from 'node:net'
import { type AppOptions, createApp } from '../http/app'
import { bodyOf, createBodyReader } from '../http/body'
import { closeServer, createServer, listen } from '../http/server'
import { readableLog } from './log'

const serving: Server[] = []

type Options = Partial<AppOptions> & Pick<AppOptions, 'routes'> & { body?: { limitBytes: number } }

/** A real server on a free port, for one test. It reads the body of every request before its routes see it. */
export async function serve({ routes, body = { limitBytes: 10_000 }, ...options }: Options) {
  const log = readableLog()
  const app = createApp({
    logger: log.logger,
    now: () => new Date(),
    routes(mounted) {
      mounted.use(bodyOf(createBodyReader(), body))
      routes(mounted)
    },
    ...options,
  })
  const server = createServer(app)
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${port}`
  serving.push(server)
  return {
    log,
    app,
    server,
    port,
    url,
    post: (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      }),
    /** Sends bytes as they are, and resolves to all that came back until the server closed. */
    raw: async (text: string | Buffer): Promise<string> => {
      const socket = connect(port, '127.0.0.1')
      let answer = ''
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
      socket.on('error', () => undefined)
      socket.write(text)
      await once(socket, 'close')
      return answer
    },
  }
}

/** For afterEach. */
export async function stopServing() {
  await Promise.all(serving.splice(0).map((server) => closeServer(server, { graceSeconds: 0 })))
}
