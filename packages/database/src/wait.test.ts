import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { freePort } from '@tollgate/processes'
import { serverUrl } from './testing/database'
import { waitForDatabase } from './wait'

const at = (change: (url: URL) => void) => {
  const url = new URL(serverUrl())
  change(url)
  return url.href
}
const secret = 'do-not-print-me'
const urlAt = (port: number) => `postgresql://someone:${secret}@127.0.0.1:${port}/gateway`

async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe('waitForDatabase', () => {
  test('returns at once if Postgres is up', async () => {
    const onRetry = jest.fn()
    await waitForDatabase(serverUrl(), { onRetry })
    expect(onRetry).not.toHaveBeenCalled()
  })

  test('retries until Postgres is up, and reports the address and reason of each attempt', async () => {
    const port = await freePort()
    const real = new URL(serverUrl())
    const proxy = createServer((socket) => {
      const inner = connect(Number(real.port), real.hostname)
      socket.pipe(inner).pipe(socket)
    })
    const retries: [number, string][] = []
    const onRetry = (attempt: number, reason: string) => {
      retries.push([attempt, reason])
      if (attempt === 3) void listen(proxy, port)
    }
    await waitForDatabase(
      at((url) => (url.port = String(port))),
      { onRetry },
    )
    proxy.close()

    expect(retries.slice(0, 3).map(([attempt]) => attempt)).toEqual([1, 2, 3])
    expect(retries[0]?.[1]).toBe(
      `Postgres at 127.0.0.1:${port}, database "${real.pathname.slice(1)}": nothing listens there`,
    )
  })

  test('increases the pauses, fails after the timeout, and never prints the password', async () => {
    const port = await freePort()
    const at: number[] = []
    const reasons: string[] = []
    const onRetry = (_: number, reason: string) => {
      at.push(performance.now())
      reasons.push(reason)
    }
    const waiting = waitForDatabase(urlAt(port), { onRetry, timeoutSeconds: 1 })
    const message = await waiting.then(String, String)
    expect(message).toMatch(/127\.0\.0\.1:\d+, database "gateway": nothing listens there. Gave up after 1 s/)
    // The first pause is 50 to 100 ms, the third 200 to 400; a busy machine makes both longer, never shorter.
    const pauses = at.slice(1).map((time, i) => time - (at[i] ?? 0))
    expect(pauses[2]).toBeGreaterThan(195)
    expect(pauses[0]).toBeLessThan(pauses[2] ?? 0)
    expect([message, ...reasons].join()).not.toMatch(/do-not-print-me|someone/)
  })

  test('fails at once for a wrong password', async () => {
    const onRetry = jest.fn()
    const wrong = at((url) => (url.password = secret))
    const message = await waitForDatabase(wrong, { onRetry }).then(String, String)
    expect(message).toContain('the user or the password is wrong')
    expect(message).not.toContain(secret)
    expect(onRetry).not.toHaveBeenCalled()
  })

  test('fails at once for a missing database', async () => {
    const missing = at((url) => (url.pathname = '/no_such_database'))
    await expect(waitForDatabase(missing)).rejects.toThrow(
      /database "no_such_database": the database does not exist\. Create it/,
    )
  })

  test('fails for a server that accepts connections and does not respond', async () => {
    const silent = createServer()
    const port = await listen(silent)
    const reasons: string[] = []
    const onRetry = (_: number, reason: string) => reasons.push(reason)
    await expect(waitForDatabase(urlAt(port), { onRetry, timeoutSeconds: 1 })).rejects.toThrow(
      'does not answer',
    )
    silent.close()
  })

  test('stops when aborted', async () => {
    const stop = new AbortController()
    const onRetry = () => stop.abort()
    await expect(waitForDatabase(urlAt(await freePort()), { onRetry, signal: stop.signal })).rejects.toThrow(
      /aborted/,
    )
  })

  test.each([
    ['mysql://someone:do-not-print-me@h/d', 'not a Postgres URL'],
    ['do-not-print-me', 'not a Postgres URL'],
    ['postgresql://someone:do-not-print-me@h', 'names no database'],
    ['postgresql://someone:do-not-print-me@h/d?schema=other', 'asks for the schema "other"'],
  ])('refuses %s without repeating it', async (url, reason) => {
    const message = await waitForDatabase(url).then(String, String)
    expect(message).toContain(reason)
    expect(message).not.toContain(secret)
  })
})
