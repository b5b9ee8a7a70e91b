import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import lockfile from 'proper-lockfile'
import { TollgateError } from './errors.js'
import { createQueues, stopped } from './storage/queues.js'
import { type WalletStorage } from './storage/storage.js'

const POLL_MS = 25
const LONGEST_POLL_MS = 200
/** A lock that its process has not renewed for so long is free. */
const STALE_MS = 10_000
/** Of a killed process: a write takes milliseconds. */
const LEFTOVER_MS = 60_000

/** One set for each folder: two storages of a folder exclude each other. */
const queuesOf = new Map<string, ReturnType<typeof createQueues>>()

/**
 * A folder with one file for each key, which all processes of a machine may share. Only its owner may read it: it holds session
 * tokens and signed payments.
 *
 * A value is written whole or not at all, also through a crash of the machine. Of several processes that create a key, the file
 * system lets one link its file. The lock of a process that has ended is free at once on the same host, elsewhere after ten seconds.
 */
export function fileStorage(folder: string): WalletStorage {
  const root = resolve(folder)
  const locks = join(root, '.locks')
  const queues = queuesOf.get(root) ?? createQueues()
  queuesOf.set(root, queues)
  const pathOf = (key: string) => join(root, encodeURIComponent(key))

  let preparing: Promise<void> | undefined
  const prepare = () =>
    (preparing ??= prepareFolder(root, locks).catch((error: unknown) => {
      preparing = undefined
      throw error
    }))

  async function using<T>(task: () => Promise<T>): Promise<T> {
    try {
      await prepare()
      return await task()
    } catch (cause) {
      if (cause instanceof TollgateError) throw cause
      const code = codeOf(cause) ?? 'an error'
      throw new TollgateError('STORAGE_FAILED', `The folder ${root} cannot be used (${code})`, { cause })
    }
  }

  /** Writes a temporary file, and has `publish` give it its name. */
  async function write<T>(value: string, publish: (temporary: string) => Promise<T>): Promise<T> {
    const temporary = join(root, `.${process.pid}-${randomUUID()}.tmp`)
    try {
      const file = await open(temporary, 'wx', 0o600)
      try {
        await file.writeFile(value)
        await file.sync()
      } finally {
        await file.close()
      }
      const published = await publish(temporary)
      await syncFolder(root)
      return published
    } finally {
      await rm(temporary, { force: true })
    }
  }

  async function runLocked<T>(task: () => Promise<T>, release: () => Promise<void>): Promise<T> {
    try {
      return await task()
    } finally {
      await release()
    }
  }

  /** Undefined if another process has it. */
  async function acquire(name: string): Promise<(() => Promise<void>) | undefined> {
    const file = join(locks, encodeURIComponent(name))
    await freeIfDead(file)
    try {
      const unlock = await lockfile.lock(file, {
        realpath: false,
        stale: STALE_MS,
        onCompromised: () => undefined,
      })
      await writeFile(ownerOf(file), JSON.stringify({ pid: process.pid, host: hostname() }), { mode: 0o600 })
      return async () => {
        await rm(ownerOf(file), { force: true })
        await unlock().catch(() => undefined)
      }
    } catch (error) {
      if (codeOf(error) === 'ELOCKED') return undefined
      throw error
    }
  }

  async function acquireWaiting(name: string, signal: AbortSignal | undefined): Promise<() => Promise<void>> {
    for (let wait = POLL_MS; ; wait = Math.min(wait * 2, LONGEST_POLL_MS)) {
      if (signal?.aborted) throw stopped()
      const release = await using(() => acquire(name))
      if (release) return release
      await delay(wait)
    }
  }

  return {
    get: (key) => using(() => readIfThere(pathOf(key))),
    set: (key, value) => using(() => write(value, (temporary) => rename(temporary, pathOf(key)))),
    create: (key, value) => using(() => write(value, (temporary) => linkIfFree(temporary, pathOf(key)))),
    delete: (key) => using(() => rm(pathOf(key), { force: true })),
    list: (prefix) =>
      using(async () => {
        const names = (await readdir(root)).filter((name) => !name.startsWith('.'))
        return names
          .map((name) => decodeURIComponent(name))
          .filter((key) => key.startsWith(prefix))
          .sort()
      }),
    lock: (name, task, signal) =>
      queues.run(name, async () => runLocked(task, await acquireWaiting(name, signal)), signal),
    async tryLock(name, task) {
      if (queues.isTaken(name)) return undefined
      return queues.run(name, async () => {
        const release = await using(() => acquire(name))
        return release ? runLocked(task, release) : undefined
      })
    },
  }
}

async function prepareFolder(root: string, locks: string): Promise<void> {
  await mkdir(locks, { recursive: true, mode: 0o700 })
  for (const name of await readdir(root)) {
    if (!name.endsWith('.tmp')) continue
    const file = join(root, name)
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }))
    if (mtimeMs < Date.now() - LEFTOVER_MS) await rm(file, { force: true })
  }
}

const ownerOf = (file: string) => `${file}.owner`

/** Harmless where two processes do it at once: no payment depends on a lock. */
async function freeIfDead(file: string): Promise<void> {
  const owner = await readIfThere(ownerOf(file))
  if (owner === undefined) return
  const { pid, host } = JSON.parse(owner || '{}') as { pid?: number; host?: string }
  if (pid === undefined || host !== hostname() || isAlive(pid)) return
  await rm(ownerOf(file), { force: true })
  await rm(`${file}.lock`, { recursive: true, force: true })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function linkIfFree(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** So that a name outlives a crash of the machine, too. Windows has no such call. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined
