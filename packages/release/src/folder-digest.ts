import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** `sha256:` and a digest of every file below `folder`: its path, whether it is executable, and its bytes or its link's target. */
export function folderDigest(folder: string): string {
  const hash = createHash('sha256')
  for (const line of entriesBelow(folder)) hash.update(`${line}\n`)
  return `sha256:${hash.digest('hex')}`
}

/** One line a file, in the order of the paths. */
export function* entriesBelow(folder: string, prefix = ''): Generator<string> {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name)
    const shown = JSON.stringify(prefix + name)
    const stats = lstatSync(path)
    if (stats.isDirectory()) yield* entriesBelow(path, `${prefix}${name}/`)
    else if (stats.isSymbolicLink()) yield `${shown} -> ${JSON.stringify(readlinkSync(path))}`
    else yield `${shown} ${stats.mode & 0o111 ? 'x' : '-'} ${sha256(readFileSync(path))}`
  }
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
