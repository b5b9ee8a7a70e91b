const FAILURES_TO_OPEN = 5
const OPEN_MS = 5_000
/** An upstream that asks for a longer rest than this is tried again all the same. */
const MAX_REST_MS = 30_000

type Circuit = { failures: number; openUntil: number; isProbed: boolean }

/**
 * A circuit breaker for each base URL. One that failed five times in a row, or that asked to be left alone, is asked last
 * until its time has passed; then one call at a time finds out whether it is well again, and the others still ask it last.
 * Nobody is ever locked out: what makes an upstream fail is often the call, and then it must not fail for all.
 */
export function createCircuits(now: () => Date) {
  const circuits = new Map<string, Circuit>()

  return {
    /** Whose turn it is, one after the other, each decided when the one before has ended. */
    *inTurn(baseUrls: readonly string[]): Generator<string, void> {
      const open: string[] = []
      for (const baseUrl of baseUrls) {
        const circuit = circuits.get(baseUrl)
        if (!circuit || circuit.openUntil === 0) yield baseUrl
        else if (circuit.isProbed || circuit.openUntil > now().getTime()) open.push(baseUrl)
        else {
          circuit.isProbed = true
          try {
            yield baseUrl
          } finally {
            circuit.isProbed = false
          }
        }
      }
      yield* open
    },

    served(baseUrl: string) {
      circuits.delete(baseUrl)
    },

    /** `retryAfter` as the upstream's header of that name has it: seconds or a date (RFC 9110, 10.2.3). */
    failed(baseUrl: string, retryAfter = '') {
      const circuit = circuits.get(baseUrl) ?? { failures: 0, openUntil: 0, isProbed: false }
      circuit.failures++
      const restMs = Math.max(restOf(retryAfter), circuit.failures >= FAILURES_TO_OPEN ? OPEN_MS : 0)
      if (restMs > 0) circuit.openUntil = Math.max(circuit.openUntil, now().getTime() + restMs)
      circuits.set(baseUrl, circuit)
    },
  }

  function restOf(retryAfter: string): number {
    const asked = /^\d{1,9}$/.test(retryAfter)
      ? Number(retryAfter) * 1000
      : Date.parse(retryAfter) - now().getTime()
    return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), MAX_REST_MS)
  }
}
