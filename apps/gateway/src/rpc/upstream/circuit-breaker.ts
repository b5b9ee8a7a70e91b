const FAILURES_TO_OPEN = 5
const OPEN_MS = 5_000
/** Caps the Retry-After of an upstream. */
const MAX_RETRY_AFTER_MS = 30_000

export type CircuitState = 'closed' | 'half_open' | 'open'

type Circuit = { failures: number; openUntil: number; isProbing: boolean }

/**
 * A circuit breaker for each base URL. It opens after five failures in a row or a Retry-After; half-open, one call at a time
 * probes the upstream. An open upstream is tried last, not excluded: often the call causes the failure, and one caller must
 * not block the others.
 */
export function createCircuitBreaker(now: () => Date) {
  const circuits = new Map<string, Circuit>()

  return {
    /** Lazy: each candidate is chosen when the attempt before it has ended. */
    *candidates(baseUrls: readonly string[]): Generator<string, void> {
      const open: string[] = []
      for (const baseUrl of baseUrls) {
        const circuit = circuits.get(baseUrl)
        if (!circuit || circuit.openUntil === 0) yield baseUrl
        else if (circuit.isProbing || circuit.openUntil > now().getTime()) open.push(baseUrl)
        else {
          circuit.isProbing = true
          try {
            yield baseUrl
          } finally {
            circuit.isProbing = false
          }
        }
      }
      yield* open
    },

    /** `half_open`: the next call probes the upstream. */
    circuitState(baseUrl: string): CircuitState {
      const circuit = circuits.get(baseUrl)
      if (!circuit || circuit.openUntil === 0) return 'closed'
      return circuit.openUntil > now().getTime() ? 'open' : 'half_open'
    },

    recordSuccess(baseUrl: string) {
      circuits.delete(baseUrl)
    },

    /** `retryAfter`: seconds or a date (RFC 9110, 10.2.3). */
    recordFailure(baseUrl: string, retryAfter = '') {
      const circuit = circuits.get(baseUrl) ?? { failures: 0, openUntil: 0, isProbing: false }
      circuit.failures++
      const pauseMs = Math.max(retryAfterMsOf(retryAfter), circuit.failures >= FAILURES_TO_OPEN ? OPEN_MS : 0)
      if (pauseMs > 0) circuit.openUntil = Math.max(circuit.openUntil, now().getTime() + pauseMs)
      circuits.set(baseUrl, circuit)
    },
  }

  function retryAfterMsOf(retryAfter: string): number {
    const requestedMs = /^\d{1,9}$/.test(retryAfter)
      ? Number(retryAfter) * 1000
      : Date.parse(retryAfter) - now().getTime()
    return Number.isNaN(requestedMs) ? 0 : Math.min(Math.max(requestedMs, 0), MAX_RETRY_AFTER_MS)
  }
}
