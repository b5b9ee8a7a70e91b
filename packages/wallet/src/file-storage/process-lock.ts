import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { takeFolder, type FolderLock } from './folder-lock.js'
import { hasCode } from './storage-error.js'

/** A killed holder's lock is free after this, at the latest. */
const STALE_MS = 10_000

type Release = () => Promise<void>

/**
 * Takes the lock `path` between processes, or returns undefined if it is taken. The lock of a killed process is free at once if
 * its processes can be seen from here, else (another host or container, a reused process id) within ten seconds. A process whose
 * event loop stops for ten seconds may lose it to another one, and two that wait for a killed one may both get it.
 */
export async function tryProcessLock(path: string): Promise<Release | undefined> {
  if ((await hasDeadOwner(path)) && !(await evict(path))) return undefined
  const lock = await take(path)
  if (!lock) return undefined
  const ownerFile = `${path}.owner`
  // Without this file a killed process frees the lock later.
  await writeFile(ownerFile, ourselves, { mode: 0o600 }).catch(ignore)
  return async () => {
    if (lock.isHeld()) await unlink(ownerFile).catch(ignore)
    await lock.release().catch(ignore)
  }
}

async function take(path: string): Promise<FolderLock | undefined> {
  try {
    return await takeFolder(path, STALE_MS)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    // Another process removed the lock meanwhile, unless the whole folder is gone.
    await stat(dirname(path))
    return undefined
  }
}

/** One process at a time, and only the owner that is written there now: else it would remove the lock of the next one. */
async function evict(path: string): Promise<boolean> {
  const lock = await take(`${path}.eviction`)
  if (!lock) return false
  try {
    if (!(await hasDeadOwner(path))) return false
    await unlink(`${path}.owner`).catch(ignore)
    await rmdir(path).catch(ignore)
    return true
  } finally {
    await lock.release().catch(ignore)
  }
}

async function hasDeadOwner(path: string): Promise<boolean> {
  const owner = await readFile(`${path}.owner`, 'utf8').catch(() => '')
  const [pid, host] = owner.split('\n')
  return host === processSpace && isGone(Number(pid))
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return hasCode(error, 'ESRCH')
  }
}

/** Processes with the same one see each other's ids: containers of one host may share its name, but not the namespace. */
const processSpace = [
  hostname(),
  attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
  attempt(() => readlinkSync('/proc/self/ns/pid')),
].join(' ')

const ourselves = `${process.pid}\n${processSpace}\n`

function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

function ignore() {}
