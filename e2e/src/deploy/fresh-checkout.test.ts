import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './kustomize'

/** The files of a checkout without installed dependencies. */
const parts = ['package.json', 'docker', 'scripts']

test('docker/check-build-steps.mjs runs in a checkout without installed dependencies', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-checkout-'))
  try {
    for (const part of parts) cpSync(join(root, part), join(folder, part), { recursive: true })
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['docker/check-build-steps.mjs', '--help'],
      { cwd: folder, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Usage: node docker/check-build-steps.mjs')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
