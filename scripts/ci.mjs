import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const HELP = `Usage: node scripts/ci.mjs [--jest PATH] [-- COMMAND [ARG ...]]

From the root of a checkout: runs the tests (npm test, or COMMAND) once. Each test file that failed is then run once more, alone. A file that passes
then is printed as "flaky: FILE", with its seed and its first failure, and does not fail the run; a file that fails twice
does. Formatting, lint, types, unused code and the build are never run again. Ends with one line "N passed, N failed".

  --jest PATH   the test runner of the second run (default: the project's own)
`

/** The exit code of `npm test` when test files failed and everything else passed. */
const TESTS_FAILED = 3

async function main() {
  const { values, positionals } = parseArgs({
    options: {
      help: { type: 'boolean' },
      jest: { type: 'string', default: 'node_modules/jest/bin/jest.js' },
    },
    allowPositionals: true,
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const [command = 'npm', ...args] = positionals.length > 0 ? positionals : ['npm', 'test']
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-ci-'))
  try {
    return await testTwice({ command, args, jest: values.jest, folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function testTwice({ command, args, jest, folder }) {
  const first = await runTests(command, args, join(folder, 'first.json'))
  const { report } = first
  if (first.code !== 0 && first.code !== TESTS_FAILED) return first.code
  if (!report || report.wasInterrupted) return first.code || 1
  if (first.code === TESTS_FAILED && report.failed.length === 0) return first.code

  let passed = report.passed
  let failed = 0
  const flaky = []
  for (const [index, { file, ...before }] of report.failed.entries()) {
    console.log(`\nsecond run, alone: ${file}`)
    const second = await runTests(
      process.execPath,
      [jest, '--runTestsByPath', file],
      join(folder, `second-${index}.json`),
    )
    passed += (second.report?.passed ?? 0) - before.passed
    if (second.code === 0) flaky.push({ file, ...before })
    else failed += second.report?.failed[0]?.failed ?? before.failed
  }
  for (const { file, firstFailure } of flaky)
    console.log(`\nflaky: ${file} (seed ${report.seed})\n${firstFailure}`)
  console.log(`\n${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

/** Prints the output; the report is undefined if the test runner did not finish. */
async function runTests(command, args, reportFile) {
  const env = { ...process.env, TEST_REPORT: reportFile }
  const child = spawn(command, args, { stdio: 'inherit', env })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (status) => resolve(status ?? 1))
  })
  return { code, report: read(reportFile) }
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return undefined
  }
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(`ci: ${error.message}`)
    process.exit(1)
  },
)
