import { TollgateError } from '../errors.js'

const DENIED = 'this user may not read or write it. Change its permissions, or use another folder.'
const NO_FOLDER = 'a part of its path is a file. Use another folder.'
const NO_LINKS = 'this file system has no hard links. Use another folder.'

const reasons: Record<string, string> = {
  EACCES: DENIED,
  EDQUOT: 'the disk quota of this user is used up. Free some space, and call again.',
  EEXIST: NO_FOLDER,
  EMFILE: 'this process has too many open files. Raise the limit (`ulimit -n`), and call again.',
  ENAMETOOLONG: 'the key is too long for a file name. Use a shorter one.',
  ENOENT: 'a folder of it is missing, and was not made. Call again, or use another folder.',
  ENOSPC: 'the disk is full. Free some space, and call again.',
  ENOSYS: NO_LINKS,
  ENOTDIR: NO_FOLDER,
  ENOTSUP: NO_LINKS,
  EPERM: `${DENIED} Some file systems without hard links say this, too.`,
  EROFS: 'the file system is read-only. Use another folder.',
}

/** Names the path and never a value. What has no code of the system stays as it is. */
export function asStorageError(path: string, cause: unknown): unknown {
  const code = codeOf(cause)
  if (code === undefined || cause instanceof TollgateError) return cause
  const reason = reasons[code] ?? `${code}. Use another folder, or call again.`
  return new TollgateError('STORAGE_FAILED', `Cannot use ${path}: ${reason}`, { cause })
}

export const hasCode = (error: unknown, code: string) => codeOf(error) === code

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
