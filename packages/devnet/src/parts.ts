type Stop = () => Promise<unknown>

export type Parts = ReturnType<typeof createParts>

/** What was started: the apps are stopped one after the other, last first, and then what they stood on, all at once. */
export function createParts() {
  const foundation: Stop[] = []
  const apps: Stop[] = []
  let isStopping = false

  /** Starts a part and remembers how to stop it. One that comes up after the stop began is stopped at once. */
  const add = async <T extends { stop: Stop } | undefined>(to: Stop[], starting: Promise<T>): Promise<T> => {
    const part = await starting
    if (!part) return part
    if (isStopping) {
      await part.stop()
      throw new Error('Stopped while it was starting')
    }
    to.push(() => part.stop())
    return part
  }

  return {
    addFoundation: <T extends { stop: Stop } | undefined>(starting: Promise<T>) => add(foundation, starting),
    addApp: <T extends { stop: Stop }>(starting: Promise<T>) => add(apps, starting),

    async stop() {
      isStopping = true
      for (const stop of apps.reverse()) await stop()
      await Promise.all(foundation.map((stop) => stop()))
    },
  }
}
