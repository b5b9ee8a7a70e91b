import { chmod, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A temporary file exists for milliseconds; an older one was left by a killed process. */
const ABANDONED_MS = 10 * 60_000

/** Durable when it resolves. No other user can list it, or open a file in it. */
export async function createFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) {
    if ((await stat(path)).mode & 0o077) await chmod(path, 0o700)
    return
  }
  let parent = path
  do {
    parent = dirname(parent)
    await syncFolder(parent)
  } while (parent !== dirname(first))
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
