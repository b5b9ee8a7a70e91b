import { randomInt } from 'node:crypto'
import { connect, createServer } from 'node:net'

const HOST = '127.0.0.1'
/** Below the ports that systems give to outgoing connections: a server that restarts finds its port free. */
const FIRST_PORT = 20_000
const LAST_PORT = 29_999
/** Ports that a caller has not bound yet. */
const reserved = new Set<number>()

/**
 * The preferred port if it is free on 127.0.0.1, else any free one. Callers in this process get different ports; another process
 * may bind the port first, and `onFreePort` retries then.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred && !reserved.has(preferred) && !(await accepts(preferred)) && (await canListen(preferred))) {
    reserved.add(preferred)
    return preferred
  }
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    if (!reserved.has(port) && (await canListen(port))) {
      reserved.add(port)
      return port
    }
  }
}

/** Calls `start` with a free port; retries with another if the port is in use by then. */
export async function onFreePort<T>(preferred: number | undefined, start: (port: number) => Promise<T>) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(attempt === 1 ? preferred : undefined)
    try {
      return await start(port)
    } catch (error) {
      if (attempt === 3 || !/address already in use|is in use/i.test(String(error))) throw error
    } finally {
      reserved.delete(port)
    }
  }
}

/** A server bound to all addresses does not always prevent a second one on 127.0.0.1, but it accepts connections there. */
function accepts(port: number) {
  return new Promise<boolean>((resolve) => {
    const socket = connect({ host: HOST, port, timeout: 500 })
    const finish = (isAccepted: boolean) => {
      socket.destroy()
      resolve(isAccepted)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
    socket.once('timeout', () => finish(true))
  })
}

function canListen(port: number) {
  return new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: HOST, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
