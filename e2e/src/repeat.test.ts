import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-repeat-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the script with a test runner that fails in the given runs only. */
function repeat(args: string[], ...failing: number[]) {
  const runner = join(folder, 'runner.js')
  const runs = join(folder, 'runs')
  rmSync(runs, { force: true })
  writeFileSync(
    runner,
    `const { appendFileSync, readFileSync } = require('node:fs')
     appendFileSync(${JSON.stringify(runs)}, 'x')
     const run = readFileSync(${JSON.stringify(runs)}, 'utf8').length
     console.log('output of run ' + run)
     process.exit(${JSON.stringify(failing)}.includes(run) ? 1 : 0)`,
  )
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/repeat.mjs'), '--jest', runner, ...args],
    { encoding: 'utf8' },
  )
  return { status, stdout, stderr, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

describe('pnpm repeat', () => {
  test('runs a file 20 times', () => {
    const { status, lastLine } = repeat(['a.test.ts'])
    expect([status, lastLine]).toEqual([0, '20 passed, 0 failed'])
  })

  test("fails if one run fails, and prints only that run's output", () => {
    const { status, stdout, lastLine } = repeat(['a.test.ts', '--times', '3', '--busy'], 2)
    expect([status, lastLine]).toEqual([1, '2 passed, 1 failed'])
    expect(stdout.match(/output of run \d/g)).toEqual(['output of run 2'])
  })

  test.each([[[]], [['a.test.ts', '--times', '0']], [['a.test.ts', '--often']]])('refuses %j', (args) => {
    expect(repeat(args).status).toBe(2)
  })
})
