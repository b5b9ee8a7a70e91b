const FRESH_MS = 1_000
const PATIENCE_MS = 3_000

/**
 * What `ask` resolves to, at most a second old however many want to know; undefined where it rejects, or takes more than
 * three seconds.
 */
export function createProbe<T>(ask: () => Promise<T>): () => Promise<T | undefined> {
  let latest: Promise<T | undefined> | undefined

  async function find() {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), PATIENCE_MS)
    })
    const answer = ask().catch(() => undefined)
    const found = await Promise.race([answer, tooLate])
    clearTimeout(timer)
    setTimeout(() => (latest = undefined), FRESH_MS).unref()
    return found
  }
  return () => (latest ??= find())
}
