import { parseArgs } from 'node:util'
import { prepare, step } from './prepare.mjs'

const HELP = `Usage: npm test [-- --help]

Installs what is missing, builds, and runs everything that CI runs: formatting, lint, types, unused code, and every test
against real Postgres, real chains and, where there is a redis-server, real Redis. The tests run beside the rest, which
takes one core. Ends with the test runner's summary.
`

async function main() {
  const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
  if (values.help) return process.stdout.write(HELP)
  await prepare({ forTests: true })
  const [code, tests] = await Promise.allSettled([checkCode(), run('tests', 'jest/bin/jest.js')])
  const failed = [code, tests].find(({ status }) => status === 'rejected')
  if (failed) throw failed.reason
}

const run = (name, path, ...args) => step(name, process.execPath, [`node_modules/${path}`, ...args])

/** Over long before the tests are, so that the test runner's summary comes last. */
async function checkCode() {
  await run('formatting', 'prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.')
  await run('lint', 'eslint/bin/eslint.js', '.')
  await run('unused code', 'knip/bin/knip.js')
}

main().catch((error) => {
  console.error(`npm test: ${error.message}`)
  process.exit(1)
})
