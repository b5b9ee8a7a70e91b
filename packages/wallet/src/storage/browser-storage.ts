import { TollgateError } from '../errors.js'
import { stopped } from './queues.js'
import { type WalletStorage } from './storage.js'

/**
 * localStorage, which all tabs of an origin share and which outlives them, with Web Locks. localStorage cannot create a key
 * atomically, so every `create` holds one lock.
 *
 * @throws TollgateError STORAGE_FAILED on a page without localStorage or Web Locks, such as one over plain http
 */
export function browserStorage(prefix = 'tollgate:'): WalletStorage {
  const values = openLocalStorage()
  const { locks } = navigator as Partial<Navigator>
  if (!locks)
    throw new TollgateError(
      'STORAGE_FAILED',
      'This page has no Web Locks: serve it over https, or pass memoryStorage()',
    )

  const write = (key: string, value: string): void => {
    try {
      values.setItem(prefix + key, value)
    } catch (cause) {
      throw new TollgateError('STORAGE_FAILED', 'localStorage is full or not writable', { cause })
    }
  }

  return {
    get: (key) => Promise.resolve(values.getItem(prefix + key) ?? undefined),
    set: (key, value) => attempt(() => write(key, value)),
    create: (key, value) =>
      locks.request(`${prefix}create`, () => {
        if (values.getItem(prefix + key) !== null) return false
        write(key, value)
        return true
      }),
    delete: (key) => attempt(() => values.removeItem(prefix + key)),
    list: (start) =>
      Promise.resolve(
        Object.keys(values)
          .filter((key) => key.startsWith(prefix + start))
          .map((key) => key.slice(prefix.length))
          .sort(),
      ),
    async lock<T>(name: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      const state = { hasBegun: false }
      const run = () => {
        state.hasBegun = true
        return task()
      }
      try {
        return (await locks.request(prefix + name, signal ? { signal } : {}, run)) as T
      } catch (error) {
        throw signal?.aborted && !state.hasBegun ? stopped() : error
      }
    },
    tryLock: <T>(name: string, task: () => Promise<T>) =>
      locks.request(prefix + name, { ifAvailable: true }, (lock) => (lock ? task() : undefined)) as Promise<
        T | undefined
      >,
  }
}

function openLocalStorage(): Storage {
  try {
    return localStorage
  } catch (cause) {
    throw new TollgateError(
      'STORAGE_FAILED',
      'This page may not use localStorage: allow it, or pass memoryStorage()',
      {
        cause,
      },
    )
  }
}

function attempt(task: () => void): Promise<void> {
  return new Promise((resolve) => {
    task()
    resolve()
  })
}
