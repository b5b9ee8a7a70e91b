import { type WalletStorage } from './storage.js'
export function memoryStorage(): WalletStorage {
  const values = new Map<string, string>()
  const locks = new Map<string, Promise<unknown>>()
  const lock: WalletStorage['lock'] = async (name, task) => {
    while (locks.has(name)) await locks.get(name)
    const run = task()
    locks.set(
      name,
      run.catch(() => undefined).finally(() => locks.delete(name)),
    )
    return run
  }
  return {
    get: (key) => Promise.resolve(values.get(key)),
    set: (key, value) => Promise.resolve(void values.set(key, value)),
    create: (key, value) => Promise.resolve(!values.has(key) && !!values.set(key, value)),
    delete: (key) => Promise.resolve(void values.delete(key)),
    list: (prefix) => Promise.resolve([...values.keys()].filter((key) => key.startsWith(prefix)).sort()),
    lock,
    tryLock: (name, task) => (locks.has(name) ? Promise.resolve(undefined) : lock(name, task)),
  }
}
