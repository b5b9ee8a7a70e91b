import { closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

type Direction = 'question' | 'answer'

/**
 * A way to the server of `url` that can be cut, before the next answer, which the server has then given, or question, and
 * that can be paused with its connections open.
 */
export async function startTcpProxy(url: string) {
  const target = new URL(url)
  let cutBefore: Direction | undefined
  let wasCut: () => void = () => undefined
  const sockets = new Map<Socket, Direction>()
  let paused: readonly Direction[] = []

  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [from, to, direction] of [
      [near, far, 'question'],
      [far, near, 'answer'],
    ] as const) {
      sockets.set(from, direction)
      from.setNoDelay(true)
      from.on('data', (chunk) => {
        if (cutBefore !== direction) return void to.write(chunk)
        cutBefore = undefined
        near.destroy()
        // The server goes on with what it was told, and learns late that nobody listens.
        far.end()
        wasCut()
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.end()
      })
      if (paused.includes(direction)) from.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    for (const socket of sockets.keys()) socket.destroy()
    server.close()
  })

  return {
    url: Object.assign(new URL(url), {
      hostname: '127.0.0.1',
      port: String((server.address() as AddressInfo).port),
    }).href,
    /** From now on nothing passes until {@link resume}: in either direction, or in the one that is named. */
    pause(...directions: Direction[]) {
      paused = directions.length > 0 ? directions : ['question', 'answer']
      for (const [socket, direction] of sockets) if (paused.includes(direction)) socket.pause()
    },
    resume() {
      paused = []
      for (const socket of sockets.keys()) socket.resume()
    },
    /** Cuts the connection that speaks next, in that direction; resolves when it has. */
    cut: (before: Direction) =>
      new Promise<void>((resolve) => {
        cutBefore = before
        wasCut = resolve
      }),
  }
}
