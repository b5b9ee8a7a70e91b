import { Agent } from 'undici'

const FAILURES_TO_OPEN = 5
const OPEN_MS = 5_000

export type Upstreams = ReturnType<typeof createUpstreams>

/** Connections to upstreams, and for each base URL a circuit breaker: one that keeps failing is asked last for a while. */
export function createUpstreams(options: { timeoutMs: number; now: () => Date }) {
  const { timeoutMs, now } = options
  const dispatcher = new Agent({
    connections: 128,
    pipelining: 1,
    connect: { timeout: Math.min(timeoutMs, 5_000) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: 32_768,
  })
  const circuits = new Map<string, { failures: number; openUntil: number }>()
  const isOpen = (baseUrl: string) => (circuits.get(baseUrl)?.openUntil ?? 0) > now().getTime()

  return {
    dispatcher,

    /** The base URLs in their order, those whose circuit is open after the others. */
    inOrder: (baseUrls: readonly string[]) => [
      ...baseUrls.filter((baseUrl) => !isOpen(baseUrl)),
      ...baseUrls.filter(isOpen),
    ],

    succeeded(baseUrl: string) {
      circuits.delete(baseUrl)
    },

    failed(baseUrl: string) {
      const failures = (circuits.get(baseUrl)?.failures ?? 0) + 1
      circuits.set(baseUrl, {
        failures,
        openUntil: failures >= FAILURES_TO_OPEN ? now().getTime() + OPEN_MS : 0,
      })
    },

    close: () => dispatcher.destroy(),
  }
}

/** What is known of a request that failed: it never left (`unsent`), it was cut off (`reset`), or nothing came in time. */
export type Failure = 'unsent' | 'reset' | 'timeout'

/** Told by its shape: Node's own errors, undici's and those of a signal have no class in common. */
export function failureOf(error: unknown): Failure {
  const { code, syscall, name, errors = [] } = error as Record<string, unknown> & { errors?: unknown[] }
  if (errors.length > 0 && errors.every((inner) => failureOf(inner) === 'unsent')) return 'unsent'
  if (syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT')
    return 'unsent'
  const isLate =
    code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' || name === 'TimeoutError'
  return isLate ? 'timeout' : 'reset'
}
