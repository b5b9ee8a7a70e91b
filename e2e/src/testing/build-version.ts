import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './world'

const run = promisify(execFile)

/** The services with what they depend on, and the compiler. */
const PNPM = [
  ...['--yes', 'pnpm@10.34.8', 'install', '--frozen-lockfile', '--reporter=append-only'],
  ...['--filter', 'tollgate', '--filter', '@tollgate/gateway...', '--filter', '@tollgate/facilitator...'],
]
const BUILD: readonly (readonly string[])[] = [
  ['packages/database/scripts/generate.mjs'],
  ['node_modules/typescript/bin/tsc', '--build', 'apps/gateway', 'apps/facilitator'],
]

export type BuildOptions = {
  signal?: AbortSignal
  closeLater: (close: () => Promise<void>) => void
  say?: (line: string) => void
}

/** Both services of a commit, without their pages, built in a temporary checkout; or the folder of a build. `commit`: its tag, if it has one. */
export async function buildVersion(
  version: string,
  options: BuildOptions,
): Promise<{ root: string; commit: string }> {
  const isBuilt = existsSync(join(version, 'apps/gateway/dist/main.js'))
  const folder = isBuilt ? version : await checkOut(version, options)
  const { stdout } = await run('git', ['describe', '--tags', '--always'], { cwd: folder })
  return { root: folder, commit: stdout.trim() }
}

async function checkOut(
  version: string,
  { signal, closeLater, say = () => undefined }: BuildOptions,
): Promise<string> {
  const folder = join(mkdtempSync(join(tmpdir(), 'tollgate-version-')), 'checkout')
  const git = (...args: string[]) => run('git', args, { cwd: root, ...(signal && { signal }) })
  closeLater(async () => {
    rmSync(join(folder, '..'), { recursive: true, force: true })
    await run('git', ['worktree', 'prune'], { cwd: root }).catch(() => undefined)
  })
  await git('worktree', 'add', '--detach', folder, version)
  say(`· building ${version}`)
  const at = { cwd: folder, maxBuffer: 64 * 1024 * 1024, ...(signal && { signal }) }
  // The packages are usually in pnpm's store.
  await run('npx', [...PNPM, '--offline'], at).catch(() => run('npx', PNPM, at))
  for (const command of BUILD) await run(process.execPath, command, at)
  return folder
}
