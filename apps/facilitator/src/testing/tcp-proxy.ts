import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { closeLater } from '@tollgate/testing'

type State = 'open' | 'silent' | 'shut'

/** A TCP proxy that can hang with its connections open, or close them and refuse new ones. */
export async function startTcpProxy(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let state: State = 'open'

  const server = createServer((near) => {
    if (state === 'shut') return void near.destroy()
    const far = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => void to.write(chunk))
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (state === 'silent') from.pause()
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
    become(next: State) {
      state = next
      for (const socket of sockets) {
        if (state === 'open') socket.resume()
        if (state === 'silent') socket.pause()
        if (state === 'shut') socket.destroy()
      }
    },
  }
}
