import { type WalletStorage } from './storage.js'
import { createQueues } from './queues.js'

/** Ends with the process: a crash forgets a signed payment, which its recipient may still have taken. */
export function memoryStorage(): WalletStorage {
  const values = new Map<string, string>()
  const queues = createQueues()
  return {
    get: (key) => Promise.resolve(values.get(key)),
    set: (key, value) => Promise.resolve(void values.set(key, value)),
    create(key, value) {
      if (values.has(key)) return Promise.resolve(false)
      values.set(key, value)
      return Promise.resolve(true)
    },
    delete: (key) => Promise.resolve(void values.delete(key)),
    list: (prefix) => Promise.resolve([...values.keys()].filter((key) => key.startsWith(prefix)).sort()),
    lock: (name, task, signal) => queues.run(name, task, signal),
    tryLock: (name, task) => (queues.isTaken(name) ? Promise.resolve(undefined) : queues.run(name, task)),
  }
}
