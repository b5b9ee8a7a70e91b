import { withTimeout } from '@tollgate/protocol'
import { open } from 'node:fs/promises'
import { type Reference } from './secret-references'

const MAX_SECRET_BYTES = 8_192
const READ_TIMEOUT_MS = 1_000

/** `problem`: why there is no value, as a clause that names the variable or the file. */
export type ReadSecret = { value: string } | { problem: string }

/** Reads a secret without the white space around it; it is not cached. Never rejects, and never has the value in a problem. */
export async function readSecret(
  reference: Reference,
  variables: Readonly<NodeJS.ProcessEnv>,
): Promise<ReadSecret> {
  if (reference.startsWith('env:')) {
    const name = reference.slice('env:'.length)
    return secretIn(variables[name] ?? '', `the variable ${name}`, 'is not set')
  }
  const path = reference.slice('file:'.length)
  const named = `the file ${path}`
  return withTimeout(
    readBounded(path).then(
      (text) => secretIn(text, named, 'is empty'),
      (error: unknown) => ({ problem: `${named} ${reasonOf(error)}` }),
    ),
    READ_TIMEOUT_MS,
    () => ({ problem: `${named} cannot be read in time` }),
  )
}

function secretIn(text: string, named: string, empty: string): ReadSecret {
  const value = text.trim()
  if (value === '') return { problem: `${named} ${empty}` }
  if (value.length > MAX_SECRET_BYTES) return { problem: `${named} is longer than ${MAX_SECRET_BYTES} bytes` }
  if (!/^[\x20-\x7e]+$/.test(value)) return { problem: `${named} is not one line of ASCII` }
  return { value }
}

class NotAFile extends Error {}

async function readBounded(path: string): Promise<string> {
  const file = await open(path, 'r')
  try {
    // A named pipe or a device could be read without end.
    if (!(await file.stat()).isFile()) throw new NotAFile()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_SECRET_BYTES + 1))
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof NotAFile) return 'is not a regular file'
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'is not there'
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read'
  return 'cannot be read'
}
