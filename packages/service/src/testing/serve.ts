import { once } from 'node:events'
import { type Server } from 'node:http'
import { connect } from 'node:net'
import { type AppOptions, createBaseApp } from '../http/app'
import { bodyOf, createBodyReader } from '../http/body'
import { closeServer, createServer, listen } from '../http/server'
import { readableLog } from './log'

const servers: Server[] = []

type Options = Partial<AppOptions> & Pick<AppOptions, 'routes'> & { body?: { limitBytes: number } }

export async function serve({ routes, body = { limitBytes: 10_000 }, ...options }: Options) {
  const log = readableLog()
  const app = createBaseApp({
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
  servers.push(server)
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
    raw: async (text: string | Buffer): Promise<string> => {
      const socket = connect(port, '127.0.0.1')
      let received = ''
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
      socket.on('error', () => undefined)
      socket.write(text)
      await once(socket, 'close')
      return received
    },
  }
}

export async function stopServing() {
  await Promise.all(servers.splice(0).map((server) => closeServer(server, { graceSeconds: 0 })))
}
