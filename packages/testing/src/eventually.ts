import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Less than a test may take, so that its failure shows the last value. */
const TIMEOUT_MS = 150_000

/** Reads until the value is as expected, and returns it. @throws Error with the last value after 150 s */
export async function eventually<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const giveUpAt = performance.now() + TIMEOUT_MS
  for (;;) {
    const value = await read()
    if (holds(value)) return value
    if (performance.now() > giveUpAt) throw new Error(`It stayed ${inspect(value)}`)
    await sleep(20)
  }
}
