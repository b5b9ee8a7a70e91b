import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '@tollgate/e2e/testing/world'
import { type Stage } from '../scenario'

const run = promisify(execFile)

const PNPM = ['--yes', 'pnpm@10.34.8', 'install', '--frozen-lockfile', '--reporter=append-only']
const BUILD: readonly (readonly string[])[] = [
  ['packages/database/scripts/generate.mjs'],
  ['node_modules/typescript/bin/tsc', '--build'],
  ['packages/wallet/scripts/build.mjs'],
  ['apps/console/scripts/build.mjs'],
]

/** A built checkout of a commit, or the folder of one: its root, and the commit. */
export async function buildVersion(
  version: string,
  stage: Pick<Stage, 'signal' | 'closeLater' | 'say'>,
): Promise<{ root: string; commit: string }> {
  const isBuilt = existsSync(join(version, 'apps/gateway/dist/main.js'))
  const folder = isBuilt ? version : await checkOut(version, stage)
  const { stdout } = await run('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder })
  return { root: folder, commit: stdout.trim() }
}

async function checkOut(
  version: string,
  { signal, closeLater, say }: Pick<Stage, 'signal' | 'closeLater' | 'say'>,
): Promise<string> {
  const folder = join(mkdtempSync(join(tmpdir(), 'tollgate-version-')), 'checkout')
  const git = (...args: string[]) => run('git', args, { cwd: root, signal })
  closeLater(async () => {
    await run('git', ['worktree', 'remove', '--force', folder], { cwd: root }).catch(() => undefined)
    rmSync(join(folder, '..'), { recursive: true, force: true })
  })
  await git('worktree', 'add', '--detach', folder, version)
  say(`· building ${version}`)
  const at = { cwd: folder, signal, maxBuffer: 64 * 1024 * 1024 }
  // The packages are usually in pnpm's store.
  await run('npx', [...PNPM, '--offline'], at).catch(() => run('npx', PNPM, at))
  for (const command of BUILD) await run(process.execPath, command, at)
  return folder
}
