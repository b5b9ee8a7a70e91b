type Stop = () => Promise<unknown>

export type ProcessGroup = ReturnType<typeof createProcessGroup>

/** Stops the apps one at a time, in reverse order, and then the infrastructure concurrently. */
export function createProcessGroup() {
  const infrastructure: Stop[] = []
  const apps: Stop[] = []
  let isStopping = false

  /** A part that starts after the stop has begun is stopped at once. */
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
    addInfrastructure: <T extends { stop: Stop } | undefined>(starting: Promise<T>) =>
      add(infrastructure, starting),
    addApp: <T extends { stop: Stop }>(starting: Promise<T>) => add(apps, starting),

    async stop() {
      isStopping = true
      for (const stop of apps.reverse()) await stop()
      await Promise.all(infrastructure.map((stop) => stop()))
    },
  }
}
