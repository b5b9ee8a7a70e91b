import { withTimeout } from '@tollgate/protocol'

const CACHE_TTL_MS = 1_000
const TIMEOUT_MS = 3_000

/** Caches the result of `probe` for a second. Undefined if it rejects or times out. */
export function createCachedProbe<T>(probe: () => Promise<T>): () => Promise<T | undefined> {
  let latest: Promise<T | undefined> | undefined

  async function run() {
    const answer = probe().catch(() => undefined)
    const result = await withTimeout(answer, TIMEOUT_MS, () => undefined)
    setTimeout(() => (latest = undefined), CACHE_TTL_MS).unref()
    return result
  }
  return () => (latest ??= run())
}
