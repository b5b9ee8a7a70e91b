import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(__dirname, '../..')
const runner = join(root, 'node_modules/jest/bin/jest.js')
const made: string[] = []
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A passing test file that counts its runs in a file beside it. */
const counted = (passes: string) => `
const { appendFileSync, readFileSync } = require('node:fs')
appendFileSync(__filename + '.runs', 'x')
const runs = readFileSync(__filename + '.runs', 'utf8').length
test('a steady one', () => {})
test('one that depends', () => { if (!(${passes})) throw new Error('failed in run ' + runs) })
`

/** Runs the CI script in a project with these files; its test command exits as `npm test` does. */
function runCi(files: Record<string, string>, { testCode = 3 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-ci-test-'))
  made.push(folder)
  const reporter = join(root, 'scripts/failed-files-reporter.cjs')
  writeFileSync(
    join(folder, 'jest.config.js'),
    `module.exports = ${JSON.stringify({ reporters: ['default', reporter], watchman: false })}`,
  )
  writeFileSync(
    join(folder, 'test-command.js'),
    `const { status } = require('node:child_process').spawnSync(process.execPath, [${JSON.stringify(runner)}], { stdio: 'inherit' })
     process.exit(status === 0 ? 0 : ${testCode})`,
  )
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const args = [join(root, 'scripts/ci.mjs'), '--jest', runner, '--', process.execPath, 'test-command.js']
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  const runsOf = (name: string) => readFileSync(join(folder, `${name}.runs`), 'utf8').length
  return { status, stdout, lastLine: stdout.trimEnd().split('\n').at(-1), runsOf }
}

describe('a run of CI', () => {
  test('runs each file once if all pass', () => {
    const { status, lastLine, runsOf } = runCi({ 'a.test.js': counted('true') })
    expect([status, lastLine, runsOf('a.test.js')]).toEqual([0, '2 passed, 0 failed', 1])
  })

  test('passes if a file fails once, and reports it as flaky with its seed and first failure', () => {
    const { status, stdout, lastLine, runsOf } = runCi({
      'a.test.js': counted('true'),
      'b.test.js': counted('runs > 1'),
    })
    expect([status, lastLine]).toEqual([0, '4 passed, 0 failed'])
    expect([runsOf('a.test.js'), runsOf('b.test.js')]).toEqual([1, 2])
    expect(stdout).toMatch(/^flaky: b\.test\.js \(seed -?\d+\)\none that depends\nError: failed in run 1$/m)
    expect(stdout).not.toContain('flaky: a')
  })

  test('fails if a file fails twice, beside a flaky one', () => {
    const { status, stdout, lastLine, runsOf } = runCi({
      'a.test.js': counted('false'),
      'b.test.js': counted('runs > 1'),
    })
    expect([status, lastLine]).toEqual([1, '3 passed, 1 failed'])
    expect([runsOf('a.test.js'), runsOf('b.test.js')]).toEqual([2, 2])
    expect(stdout).toContain('flaky: b.test.js')
    expect(stdout).not.toContain('flaky: a')
  })

  test('fails if a file cannot be loaded', () => {
    const { status, lastLine } = runCi({ 'a.test.js': 'this is no program', 'b.test.js': counted('true') })
    expect([status, lastLine]).toEqual([1, '2 passed, 1 failed'])
  })

  test('fails without a second run if anything but tests failed', () => {
    const { status, runsOf } = runCi({ 'b.test.js': counted('runs > 1') }, { testCode: 1 })
    expect([status, runsOf('b.test.js')]).toEqual([1, 1])
  })
})
