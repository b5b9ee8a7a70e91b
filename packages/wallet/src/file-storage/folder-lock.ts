import { rmdirSync } from 'node:fs'
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises'
import { clearTimeout, setTimeout } from 'node:timers'
import { hasCode } from './storage-error.js'

export type FolderLock = { isHeld(): boolean; release(): Promise<void> }

/** The locks of this process that no other one has taken away. */
export const heldFolders = new Set<string>()

const AGAIN_MS = 1000

/**
 * Holds the lock `path`, a folder whose making the file system decides, until `release`; undefined if it is taken. The holder
 * renews its time; a lock whose time is older than `staleMs` is free.
 */
export async function takeFolder(path: string, staleMs: number): Promise<FolderLock | undefined> {
  if (!(await make(path, staleMs))) return undefined
  return keep(path, await touch(path), staleMs)
}

async function make(path: string, staleMs: number): Promise<boolean> {
  if (await isMade(path)) return true
  const time = await timeOf(path).catch(unlessGone)
  // Released meanwhile: what is there by now is the lock of another process.
  if (time === undefined) return isMade(path)
  if (time >= Date.now() - staleMs) return false
  await rmdir(path).catch(unlessGone)
  return isMade(path)
}

async function isMade(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

function keep(path: string, time: number, staleMs: number): FolderLock {
  let renewedAt = Date.now()
  let renewing = Promise.resolve()
  let timer = renewAfter(staleMs / 5)
  const isHeld = () => heldFolders.has(path)
  heldFolders.add(path)
  releaseAtExit()

  function renewAfter(delay: number) {
    const next = setTimeout(() => {
      renewing = renew()
    }, delay)
    next.unref()
    return next
  }

  /** Ends with the lock lost if another process has changed it, or if this one came too late. */
  async function renew() {
    try {
      if ((await timeOf(path)) !== time) return void heldFolders.delete(path)
      time = await touch(path)
      renewedAt = Date.now()
      timer = renewAfter(staleMs / 5)
    } catch (error) {
      if (hasCode(error, 'ENOENT') || renewedAt + staleMs < Date.now()) heldFolders.delete(path)
      else timer = renewAfter(AGAIN_MS)
    }
  }

  return {
    isHeld,
    async release() {
      clearTimeout(timer)
      await renewing
      clearTimeout(timer)
      if (heldFolders.delete(path)) await rmdir(path)
    },
  }
}

const timeOf = async (path: string) => (await stat(path)).mtimeMs

/** The time as the file system has kept it, which may be coarser. */
async function touch(path: string): Promise<number> {
  const now = new Date()
  await utimes(path, now, now)
  return timeOf(path)
}

function unlessGone(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error
}

let isReleasedAtExit = false

function releaseAtExit() {
  if (isReleasedAtExit) return
  isReleasedAtExit = true
  process.on('exit', () => {
    for (const path of heldFolders)
      try {
        rmdirSync(path)
      } catch {
        // It is stale in ten seconds.
      }
  })
}
