import { setTimeout as sleep } from 'node:timers/promises'

/** Reads until `holds`: for rows that another process writes. */
export async function eventually<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read()
    if (holds(value)) return value
    await sleep(20)
  }
}
