/** Locks between the callers of one program: first come, first served. */
export function createLocalLocks() {
  /** Each name that is held, with those who wait for it. */
  const queues = new Map<string, (() => void)[]>()

  async function run<T>(name: string, task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } finally {
      const next = queues.get(name)?.shift()
      if (next) next()
      else queues.delete(name)
    }
  }

  return {
    async lock<T>(name: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      signal?.throwIfAborted()
      const queue = queues.get(name)
      if (queue) await turn(queue, signal)
      else queues.set(name, [])
      return run(name, task)
    },
    async tryLock<T>(name: string, task: () => Promise<T>): Promise<T | undefined> {
      if (queues.has(name)) return undefined
      queues.set(name, [])
      return run(name, task)
    },
  }
}

function turn(queue: (() => void)[], signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }
    const leave = () => {
      queue.splice(queue.indexOf(enter), 1)
      reject(signal?.reason as Error)
    }
    queue.push(enter)
    signal?.addEventListener('abort', leave, { once: true })
  })
}
