import { chmod, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from './storage-error.js'

/** A temporary file exists for milliseconds; an older one was left by a killed process. */
const ABANDONED_MS = 10 * 60_000

/** Durable when it resolves. No other user can list it, or open a file in it. */
export async function createFolder(path: string): Promise<void> {
  const missing = await findMissing(path)
  if (missing.length === 0 && (await stat(path)).mode & 0o077) await chmod(path, 0o700)
  for (const folder of missing) {
    await createOne(folder)
    await syncFolder(dirname(folder))
  }
}

/** Outermost first. Node's recursive `mkdir` does not end below /proc. */
async function findMissing(path: string): Promise<string[]> {
  const missing: string[] = []
  for (let folder = path; !(await exists(folder)); folder = dirname(folder)) missing.unshift(folder)
  return missing
}

async function exists(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
  throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR' })
}

async function createOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may make it first.
    if (!hasCode(error, 'EEXIST') || !(await exists(path))) throw error
  }
}

/** Makes names in it durable. Windows offers no way, nor needs one on NTFS. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export async function deleteAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    // Another process may delete it first.
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - ABANDONED_MS) await unlink(path).catch(() => undefined)
  }
}
