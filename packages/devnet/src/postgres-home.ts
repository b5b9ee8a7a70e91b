import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isAlive, type Owner } from '@tollgate/processes'
import { postgresBinaries } from './binaries'

const LOCK = 'postmaster.pid'

/** The folders and the account of the server. Postgres refuses to run as root. */
export type PostgresHome = {
  place: string
  data: string
  binaries: string
  passwordFile: string
  password: string
  owner: Owner | undefined
}

/**
 * Finds or creates the home of `folder`: for an ordinary user `folder` itself. For root the server runs as an unprivileged account;
 * if it cannot reach `folder` (a checkout below /root), the home is a folder of root in /var/tmp with a copy of the binaries.
 */
export function postgresHome(folder: string): PostgresHome {
  const asRoot = process.getuid?.() === 0
  mkdirSync(folder, { recursive: true, mode: asRoot ? 0o711 : 0o700 })
  const { place, owner } = asRoot ? homeUnderRoot(folder) : { place: folder, owner: undefined }

  const passwordFile = join(place, 'password')
  if (!existsSync(passwordFile)) {
    writeFileSync(passwordFile, `${randomBytes(16).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
    if (owner) chownSync(passwordFile, owner.uid, owner.gid)
  }
  const password = readFileSync(passwordFile, 'utf8').trim()
  return {
    place,
    data: join(place, 'data'),
    binaries: binariesFor(place, owner),
    passwordFile,
    password,
    owner,
  }
}

/** Moves the data of a moved checkout if its owner cannot reach it. */
function homeUnderRoot(folder: string): { place: string; owner: Owner } {
  const outside = outsideOf(folder)
  const inside = accountFor(join(folder, 'data'))
  if (!existsSync(outside) && reachable(folder, inside.uid)) return { place: folder, owner: inside }
  secureFolder(outside)
  if (!existsSync(join(outside, 'data')) && existsSync(join(folder, 'data')))
    execFileSync('mv', [join(folder, 'password'), join(folder, 'data'), outside])
  return { place: outside, owner: accountFor(join(outside, 'data')) }
}

/** Removes all data of the server of `folder`, which must be stopped. */
export function removePostgres(folder: string) {
  for (const place of [folder, outsideOf(folder)]) {
    const pid = serverOf(join(place, 'data'))
    if (pid)
      throw new Error(`Postgres (process ${pid}) still runs on ${place}: stop it before removing its data`)
    rmSync(place, { recursive: true, force: true })
  }
}

/**
 * Removes a lock whose process id now belongs to another program; Postgres would refuse to start. The lock of a dead process
 * stays, because Postgres uses it to detect children that still write.
 */
export function releaseStaleLock(data: string) {
  const pid = lockedBy(data)
  if (pid && isAlive(pid) && serverOf(data) === undefined) rmSync(join(data, LOCK))
}

/** The process id of the server of this data folder, if it is running. */
function serverOf(data: string): number | undefined {
  const pid = lockedBy(data)
  if (!pid) return undefined
  try {
    const command =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        : execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes(data) ? pid : undefined
  } catch {
    return undefined
  }
}

function lockedBy(data: string) {
  const lock = join(data, LOCK)
  const pid = existsSync(lock) ? Number(readFileSync(lock, 'utf8').split('\n')[0]) : 0
  return Number.isInteger(pid) && pid > 0 ? pid : undefined
}

function outsideOf(folder: string) {
  const name = createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 16)
  return join('/var/tmp', `tollgate-${name}`)
}

/** Every account can write to /var/tmp, so the folder must belong to root and be writable by root only. */
function secureFolder(folder: string) {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o711 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0)
    throw new Error(`${folder} does not belong to root: remove it and start again`)
  chmodSync(folder, 0o711)
}

function accountFor(data: string): Owner {
  if (existsSync(data)) {
    const { uid, gid } = statSync(data)
    if (uid !== 0) return { uid, gid }
  }
  for (const name of ['nobody', 'daemon']) {
    try {
      const ask = (what: string) =>
        Number(execFileSync('id', [what, name], { encoding: 'utf8', stdio: 'pipe' }))
      return { uid: ask('-u'), gid: ask('-g') }
    } catch {
      continue
    }
  }
  throw new Error(
    'Postgres refuses to run as root, and there is no unprivileged account to run it: start as an ordinary user',
  )
}

/** Whether an account can reach this folder. */
function reachable(path: string, uid: number): boolean {
  const real = realpathSync(path)
  const found = statSync(real)
  const open = (found.mode & (found.uid === uid ? 0o100 : 0o001)) !== 0
  return open && (real === '/' || reachable(dirname(real), uid))
}

function binariesFor(place: string, owner: Owner | undefined) {
  const { folder, version } = postgresBinaries()
  const programs = ['postgres', 'initdb'].map((name) => join(folder, 'bin', name))
  const usable = owner
    ? reachable(folder, owner.uid) && programs.every((file) => (statSync(file).mode & 0o005) === 0o005)
    : programs.every((file) => (statSync(file).mode & 0o100) !== 0)
  if (usable) return join(folder, 'bin')

  const copy = join(place, `postgres-${version}`)
  if (!existsSync(copy)) {
    rmSync(`${copy}.new`, { recursive: true, force: true })
    cpSync(folder, `${copy}.new`, { recursive: true, verbatimSymlinks: true })
    execFileSync('chmod', ['-R', 'u+w,a+rX', `${copy}.new`])
    for (const name of readdirSync(join(`${copy}.new`, 'bin')))
      chmodSync(join(`${copy}.new`, 'bin', name), 0o755)
    renameSync(`${copy}.new`, copy)
  }
  return join(copy, 'bin')
}
