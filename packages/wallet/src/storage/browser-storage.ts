import { TollgateError } from '../errors.js'
import { type WalletStorage } from './storage.js'

const STORE = 'values'

/**
 * Of all tabs and workers of this origin, in an IndexedDB database of this name. Not in localStorage, which keeps neither
 * guarantee of `create`: tabs in two browser processes each see the other's writes late, also under a Web Lock, and what was
 * written in the last seconds is lost when the browser is killed.
 *
 * Locks are Web Locks: the page must be from https or localhost.
 */
export function browserStorage(name = 'tollgate'): WalletStorage {
  let opened: Promise<IDBDatabase> | undefined
  const forget = () => (opened = undefined)

  function open(): Promise<IDBDatabase> {
    opened ??= openDatabase(name, forget).catch((error: unknown) => {
      forget()
      throw error
    })
    return opened
  }

  async function run<T>(
    mode: IDBTransactionMode,
    work: (values: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    try {
      return await commit(await open(), mode, work)
    } catch (error) {
      throw isNamed(error, 'ConstraintError') ? error : failed(error)
    }
  }

  async function locked<T>(
    lockName: string,
    options: LockOptions,
    task: (lock: Lock | null) => Promise<T>,
  ): Promise<T> {
    const locks = findLocks()
    let isStarted = false as boolean
    try {
      return await locks.request(`${name}:${lockName}`, options, (lock) => {
        isStarted = true
        return task(lock)
      })
    } catch (error) {
      throw isStarted || options.signal?.aborted ? error : failed(error)
    }
  }

  return {
    get: (key) => run('readonly', (values) => values.get(key) as IDBRequest<string | undefined>),
    async set(key, value) {
      await run('readwrite', (values) => values.put(value, key))
    },
    async create(key, value) {
      try {
        await run('readwrite', (values) => values.add(value, key))
        return true
      } catch (error) {
        if (isNamed(error, 'ConstraintError')) return false
        throw error
      }
    },
    async delete(key) {
      await run('readwrite', (values) => values.delete(key))
    },
    list: (prefix) =>
      run(
        'readonly',
        (values) => values.getAllKeys(IDBKeyRange.bound(prefix, `${prefix}\uffff`)) as IDBRequest<string[]>,
      ),
    lock: (lockName, task, signal) => locked(lockName, signal ? { signal } : {}, task),
    tryLock: (lockName, task) =>
      locked(lockName, { ifAvailable: true }, async (lock) => (lock ? task() : undefined)),
  }
}

function openDatabase(name: string, onClose: () => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(STORE)
    request.onerror = () => reject(request.error ?? new Error('The database did not open'))
    request.onsuccess = () => {
      const database = request.result
      database.onclose = onClose
      database.onversionchange = () => {
        database.close()
        onClose()
      }
      resolve(database)
    }
  })
}

/** Resolves when the transaction is on disk. */
function commit<T>(
  database: IDBDatabase,
  mode: IDBTransactionMode,
  work: (values: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, mode, { durability: 'strict' })
    const request = work(transaction.objectStore(STORE))
    transaction.oncomplete = () => resolve(request.result)
    transaction.onabort = () =>
      reject(request.error ?? transaction.error ?? new Error('The transaction was aborted'))
  })
}

function findLocks(): LockManager {
  // Only a secure page has them.
  const { locks } = navigator as { locks?: LockManager }
  if (locks) return locks
  throw new TollgateError(
    'STORAGE_FAILED',
    'This page has no Web Locks. Open it over https, or give `storage: memoryStorage()`.',
  )
}

const isNamed = (error: unknown, name: string) => error instanceof DOMException && error.name === name

function failed(cause: unknown): TollgateError {
  const reason = isNamed(cause, 'QuotaExceededError')
    ? 'The storage of this site is full. Free some, or'
    : 'The browser did not let this page use its storage. Allow site data for it, leave the private window, or'
  return new TollgateError('STORAGE_FAILED', `${reason} give \`storage: memoryStorage()\`.`, { cause })
}
