import { closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A way to the server of `url` that can be cut; `cutBefore` the next answer, which the server has then given, or question. */
export async function startTcpProxy(url: string) {
  const target = new URL(url)
  let cutBefore: 'answer' | 'question' | undefined
  let wasCut: () => void = () => undefined
  const sockets = new Set<Socket>()

  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [from, to, direction] of [
      [near, far, 'question'],
      [far, near, 'answer'],
    ] as const) {
      sockets.add(from)
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
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  return {
    url: Object.assign(new URL(url), {
      hostname: '127.0.0.1',
      port: String((server.address() as AddressInfo).port),
    }).href,
    /** Cuts the connection that speaks next, in that direction; resolves when it has. */
    cut: (before: 'answer' | 'question') =>
      new Promise<void>((resolve) => {
        cutBefore = before
        wasCut = resolve
      }),
  }
}
