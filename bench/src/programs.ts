import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const programFolders = () => [
  ...(process.env['PATH'] ?? '').split(delimiter),
  '/usr/local/sbin',
  '/usr/sbin',
  '/sbin',
]

/** The file of a program on the PATH, or in the folders of system programs, where nginx is. */
export function findProgram(name: string, folders: readonly string[] = programFolders()): string | undefined {
  return folders
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isRunnable)
}

/** `install` says how to get the program. */
export function requireProgram(name: string, install: string): string {
  const file = findProgram(name)
  if (file === undefined) throw new Error(`${name} is not on the PATH: ${install}`)
  return file
}

/** The first version in what the program prints; undefined if it is not installed. */
export function versionOf(name: string, option: string): string | undefined {
  const file = findProgram(name)
  if (file === undefined) return undefined
  const { stdout, stderr } = spawnSync(file, [option], { encoding: 'utf8', timeout: 10_000 })
  return /\d+\.\d+[\w.-]*/.exec(`${stdout} ${stderr}`)?.[0]
}

function isRunnable(file: string) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
