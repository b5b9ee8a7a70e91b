import { randomUUID } from 'node:crypto'
import { link, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { TollgateError } from './errors.js'
import { decodeKey, encodeKey } from './file-storage/file-name.js'
import { createFolder, deleteAbandoned, syncFolder } from './file-storage/folders.js'
import { tryProcessLock } from './file-storage/process-lock.js'
import { asStorageError, hasCode } from './file-storage/storage-error.js'
import { createLocalLocks } from './storage/local-locks.js'
import { type WalletStorage } from './storage/storage.js'

const LOCK_RETRY_MS = 50
/** Ends each file: one without it was truncated. */
const END = '\n'

/** Also between two storages of one folder. */
const localLocks = createLocalLocks()

/**
 * Keeps each key in a file below `folder`, which is created if it does not exist. Only the user who runs this can read the files:
 * they hold session tokens and signed payments. Processes that are given the same folder share sessions and payments.
 *
 * A crash or a power failure leaves each value whole, old or new. A file that was truncated by other means, or is not UTF-8, is an
 * error until it is restored or deleted, because a payment in it may still have to be sent.
 */
export function fileStorage(folder: string): WalletStorage {
  const root = resolve(folder)
  const values = join(root, 'values')
  const temporary = join(root, 'temporary')
  const locks = join(root, 'locks')
  const fileOf = (key: string) => join(values, encodeKey(key, '.value'))
  const lockOf = (name: string) => join(locks, encodeKey(name, '.lock'))

  let prepared: Promise<void> | undefined

  async function prepare() {
    for (const path of [values, temporary, locks]) await createFolder(path)
    await deleteAbandoned(temporary)
  }

  /** Runs `work` with the folders in place; also if they were deleted since the last error. */
  async function withFolders<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      prepared ??= prepare()
      await prepared
      return await work()
    } catch (error) {
      prepared = undefined
      throw asStorageError(path, error)
    }
  }

  /** Writes a whole file to the disk, then `place` gives it the name under which it is read. */
  const write = <T>(key: string, value: string, place: (written: string, path: string) => Promise<T>) =>
    withFolders(fileOf(key), async () => {
      const written = join(temporary, randomUUID())
      try {
        const file = await open(written, 'wx', 0o600)
        try {
          await file.writeFile(value + END)
          await file.sync()
        } finally {
          await file.close()
        }
        const result = await place(written, fileOf(key))
        await syncFolder(values)
        return result
      } finally {
        await unlink(written).catch(() => undefined)
      }
    })

  const takeLock = (path: string) => withFolders(path, () => tryProcessLock(path))

  async function waitForLock(path: string, signal?: AbortSignal) {
    for (;;) {
      signal?.throwIfAborted()
      const release = await takeLock(path)
      if (release) return release
      const delay = LOCK_RETRY_MS * (0.5 + Math.random())
      await setTimeout(delay, undefined, signal && { signal }).catch(() => undefined)
    }
  }

  return {
    get: (key) => readValue(fileOf(key)),
    set: (key, value) => write(key, value, rename),
    create: (key, value) => write(key, value, linkIfNew),
    async delete(key) {
      const path = fileOf(key)
      try {
        await unlink(path)
        await syncFolder(values)
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw asStorageError(path, error)
      }
    },
    async list(prefix) {
      try {
        const keys = (await readdir(values)).map((name) => decodeKey(name, '.value'))
        return keys.filter((key) => key !== undefined && key.startsWith(prefix)).sort() as string[]
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return []
        throw asStorageError(values, error)
      }
    },
    lock(name, task, signal) {
      const path = lockOf(name)
      return localLocks.lock(path, async () => releasing(await waitForLock(path, signal), task), signal)
    },
    tryLock(name, task) {
      const path = lockOf(name)
      return localLocks.tryLock(path, async () => {
        const release = await takeLock(path)
        return release && releasing(release, task)
      })
    },
  }
}

async function readValue(path: string): Promise<string | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw asStorageError(path, error)
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (text.endsWith(END)) return text.slice(0, -END.length)
  } catch {
    // As a truncated one.
  }
  throw new TollgateError(
    'STORAGE_FAILED',
    `${path} is damaged: another program changed it. Restore it. If it is deleted, a payment in it may be made a second time.`,
  )
}

async function releasing<T>(release: () => Promise<void>, task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } finally {
    await release()
  }
}

/** The file system decides between processes. */
async function linkIfNew(written: string, path: string): Promise<boolean> {
  try {
    await link(written, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}
