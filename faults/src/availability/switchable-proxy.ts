import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy to a port of this machine, which can lead new connections to another one. */
export async function startSwitchableProxy(firstPort: number) {
  let target = firstPort
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => sockets.forEach((socket) => socket.destroy())

  return {
    /** The same URL, through the proxy. */
    through: (url: string) =>
      Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href,
    /** Open connections stay where they are. */
    leadTo: (port: number) => void (target = port),
    cut,
    stop() {
      cut()
      server.close()
    },
  }
}
