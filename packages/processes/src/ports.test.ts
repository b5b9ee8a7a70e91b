import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { freePort, onFreePort } from './ports'

async function listen(port: number, host?: string): Promise<Server> {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  return server
}

describe('freePort', () => {
  test('returns the preferred port if it is free', async () => {
    const free = await freePort()

    expect(await onFreePort(undefined, (port) => Promise.resolve(port))).not.toBe(free)
    await listen(free, '127.0.0.1').then((server) => server.close())
  })

  test.each(['127.0.0.1', '0.0.0.0', undefined])(
    'gives another port when somebody listens on %s',
    async (host) => {
      const busy = await freePort()
      const server = await listen(busy, host)

      const port = await freePort(busy)

      expect(port).not.toBe(busy)
      await listen(port, '127.0.0.1').then((other) => other.close())
      server.close()
    },
  )

  test('returns a port that the system gives to no outgoing connection', async () => {
    const range = '/proc/sys/net/ipv4/ip_local_port_range'
    const lowest = existsSync(range) ? Number.parseInt(readFileSync(range, 'utf8'), 10) : 49_152

    const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()))

    expect(Math.max(...ports)).toBeLessThan(lowest)
  })

  test('returns different ports to concurrent callers', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()))

    expect(new Set(ports).size).toBe(50)
  })
})

describe('onFreePort', () => {
  test('retries with another port if the first one is in use by then', async () => {
    const tried: number[] = []

    const port = await onFreePort(undefined, (port) => {
      tried.push(port)
      if (tried.length < 3) throw new Error('bind: Address already in use')
      return Promise.resolve(port)
    })

    expect([new Set(tried).size, tried.at(-1)]).toEqual([3, port])
  })

  test('does not retry after other errors', async () => {
    const start = jest.fn(() => Promise.reject(new Error('no such file')))

    await expect(onFreePort(undefined, start)).rejects.toThrow('no such file')
    expect(start).toHaveBeenCalledTimes(1)
  })

  test('uses the preferred port, and again after its release', async () => {
    const preferred = await onFreePort(undefined, (port) => Promise.resolve(port))

    expect(await onFreePort(preferred, (port) => Promise.resolve(port))).toBe(preferred)
    expect(await onFreePort(preferred, (port) => Promise.resolve(port))).toBe(preferred)
  })
})
