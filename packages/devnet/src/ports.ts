import { connect, createServer } from 'node:net'

const HOST = '127.0.0.1'
/** Ports told to somebody who has not bound them yet. */
const promised = new Set<number>()

/**
 * The preferred port if nobody listens there on 127.0.0.1, otherwise any free one. Two callers in this process never get the
 * same; another process may still come between the answer and its use, which `onFreePort` puts right.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred && !promised.has(preferred) && !(await answers(preferred)) && (await canListen(preferred))) {
    promised.add(preferred)
    return preferred
  }
  for (;;) {
    const port = await canListen(0)
    if (port && !promised.has(port)) {
      promised.add(port)
      return port
    }
  }
}

/** Starts something on the preferred port or another, and on a third if somebody took that one in the meantime. */
export async function onFreePort<T>(preferred: number | undefined, start: (port: number) => Promise<T>) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(attempt === 1 ? preferred : undefined)
    try {
      return await start(port)
    } catch (problem) {
      if (attempt === 3 || !/address already in use|is in use/i.test(String(problem))) throw problem
    } finally {
      promised.delete(port)
    }
  }
}

/** A server bound to all addresses does not always forbid a second one bound to 127.0.0.1, but it does answer there. */
function answers(port: number) {
  return new Promise<boolean>((resolve) => {
    const socket = connect({ host: HOST, port, timeout: 500 })
    const answer = (taken: boolean) => {
      socket.destroy()
      resolve(taken)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
    socket.once('timeout', () => answer(true))
  })
}

function canListen(port: number) {
  return new Promise<number | undefined>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ host: HOST, port, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(address && typeof address === 'object' ? address.port : undefined))
    })
  })
}
