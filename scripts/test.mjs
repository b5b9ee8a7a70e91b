import { constants, getPriority, setPriority } from 'node:os'
import { parseArgs } from 'node:util'
import { prepare, step } from './prepare.mjs'

const HELP = `Usage: npm test [-- --help]

Installs what is missing, builds, and runs everything that CI runs: words, formatting, lint, types, import cycles, unused code, and
every test against real Postgres, real chains and, where there is a redis-server, real Redis. The rest runs beside the
tests, on what they leave idle. Ends with the test runner's summary.

Never runs a test twice. Exit code 0: all passed; 3: tests failed and all else passed; 1: anything else.
`

const TESTS_FAILED = 3

async function main() {
  const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
  if (values.help) return process.stdout.write(HELP)
  await prepare({ forTests: true })
  const tests = run('tests', 'jest/bin/jest.js')
  // The tests already run: this lowers the priority of this process and its later children only.
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_LOW))
  const [code, tested] = await Promise.allSettled([checkCode(), tests])
  if (code.status === 'rejected') throw code.reason
  if (tested.status === 'fulfilled') return
  console.error(`npm test: ${tested.reason.message}`)
  process.exit(TESTS_FAILED)
}

const run = (name, path, ...args) => step(name, process.execPath, [`node_modules/${path}`, ...args])

/** Usually ends before the tests, so that the test runner's summary is last. */
async function checkCode() {
  await step('words', process.execPath, ['scripts/check-words.mjs'])
  await run('formatting', 'oxfmt/bin/oxfmt', '--check')
  await run('lint', 'oxlint/bin/oxlint')
  await run('import cycles', 'dpdm/lib/bin/dpdm.js')
  await run('unused code', 'knip/bin/knip.js')
}

main().catch((error) => {
  console.error(`npm test: ${error.message}`)
  process.exit(1)
})
