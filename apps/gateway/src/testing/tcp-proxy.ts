import { closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

type Direction = 'request' | 'response'

/** A proxy that can close a connection before the next request or response, or pause with its connections open. */
export async function startTcpProxy(url: string) {
  const target = new URL(url)
  let cutBefore: Direction | undefined
  let wasCut: () => void = () => undefined
  const sockets = new Map<Socket, Direction>()
  let paused: readonly Direction[] = []

  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [from, to, direction] of [
      [near, far, 'request'],
      [far, near, 'response'],
    ] as const) {
      sockets.set(from, direction)
      from.setNoDelay(true)
      from.on('data', (chunk) => {
        if (cutBefore !== direction) return void to.write(chunk)
        cutBefore = undefined
        near.destroy()
        // The server continues, and notices the closed connection late.
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
    /** Stops both directions, or the given ones, until {@link resume}. */
    pause(...directions: Direction[]) {
      paused = directions.length > 0 ? directions : ['request', 'response']
      for (const [socket, direction] of sockets) if (paused.includes(direction)) socket.pause()
    },
    resume() {
      paused = []
      for (const socket of sockets.keys()) socket.resume()
    },
    cut: (before: Direction) =>
      new Promise<void>((resolve) => {
        cutBefore = before
        wasCut = resolve
      }),
  }
}
