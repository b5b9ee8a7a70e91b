import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { randomUUID } from 'node:crypto'
import {
  type ClientKey,
  ID_VARIABLE,
  keyFrom,
  KeyPlaceError,
  type KeyPlace,
  TOKEN_VARIABLE,
} from './key-place'

/** A file of `NAME=VALUE` lines, such as `docker/.env`. All other lines stay as they are. */
export function envFile(path: string): KeyPlace {
  const name = `file ${path}`
  return {
    name,
    read: () =>
      attempt(name, () => {
        const text = textOf(path)
        assertKeepsOwner(path)
        return {
          key: keyFrom(name, valueIn(text, ID_VARIABLE), valueIn(text, TOKEN_VARIABLE)),
          write: (key) => attempt(name, () => replaceText(path, text, withKey(text, key))),
        }
      }),
  }
}

const textOf = (path: string): string =>
  statSync(path, { throwIfNoEntry: false }) ? readFileSync(path, 'utf8') : ''

/** The last line counts, as in Docker Compose. */
const valueIn = (text: string, name: string): string =>
  [...text.matchAll(lineOf(name))]
    .at(-1)?.[1]
    ?.trim()
    .replace(/^(['"])(.*)\1$/, '$2') ?? ''

const lineOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'gm')

function withKey(text: string, { id, token }: ClientKey): string {
  const values = { [ID_VARIABLE]: id, [TOKEN_VARIABLE]: token }
  return Object.entries(values).reduce((before, [name, value]) => {
    const line = `${name}=${value}`
    if (lineOf(name).test(before)) return before.replace(lineOf(name), () => line)
    return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`
  }, text)
}

/** Before a key is registered that could not be written. */
function assertKeepsOwner(path: string): void {
  if (!statSync(path, { throwIfNoEntry: false })) return
  const target = realpathSync(path)
  const probe = `${target}.${randomUUID()}`
  const file = openSync(probe, 'wx', 0o600)
  try {
    giveOwner(file, target)
  } finally {
    closeSync(file)
    rmSync(probe, { force: true })
  }
}

/** Of another file, with its mode: the service that reads it may run as another user than this command. */
function giveOwner(file: number, other: string): void {
  const { uid, gid, mode } = statSync(other)
  const own = fstatSync(file)
  if (own.uid !== uid || own.gid !== gid) {
    try {
      fchownSync(file, uid, gid)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
      throw new KeyPlaceError(
        `file ${other} belongs to user ${uid} and group ${gid}, to whom its replacement cannot be given; run this as that user or as root`,
      )
    }
  }
  fchmodSync(file, mode & 0o7777)
}

/** False if the file is not `before` any more. The new file is created exclusively, so that one process at a time replaces it. */
function replaceText(path: string, before: string, after: string): boolean {
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined
  // A link stays one.
  const target = isThere ? realpathSync(path) : path
  const next = `${target}.new`
  const file = openSync(next, 'wx', 0o600)
  let isReplaced = false
  try {
    if (textOf(path) !== before) return false
    if (isThere) giveOwner(file, target)
    writeSync(file, after)
    fsyncSync(file)
    renameSync(next, target)
    isReplaced = true
    return true
  } finally {
    closeSync(file)
    // After the replacement it is that of another process.
    if (!isReplaced) rmSync(next, { force: true })
  }
}

/** Errors of files become rejections that name the place. */
const attempt = <T>(name: string, work: () => T): Promise<T> =>
  Promise.resolve()
    .then(work)
    .catch((error: unknown) => {
      throw explained(name, error as NodeJS.ErrnoException)
    })

function explained(name: string, error: NodeJS.ErrnoException): Error {
  const { code, path } = error
  if (code === 'EEXIST')
    return new KeyPlaceError(`${name}: ${path} exists: another run writes it, or was killed; delete it then`)
  if (code !== undefined) return new KeyPlaceError(`${name} cannot be read and replaced: ${code}`)
  return error
}
