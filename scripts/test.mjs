import { parseArgs } from 'node:util'
import { prepare, step } from './prepare.mjs'

const HELP = `Usage: npm test [-- --help]

Installs what is missing, builds, and runs everything that CI runs: formatting, lint, types, unused code, and every test
against real Postgres, a real chain and, where there is a redis-server, real Redis. Ends with the test runner's summary.
`

async function main() {
  const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
  if (values.help) return process.stdout.write(HELP)
  const bin = (path) => [process.execPath, [`node_modules/${path}`]]
  const run = (name, path, ...args) => step(name, bin(path)[0], [...bin(path)[1], ...args])
  await prepare({ forTests: true })
  await run('formatting', 'prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.')
  await run('lint', 'eslint/bin/eslint.js', '.')
  await run('unused code', 'knip/bin/knip.js')
  await run('tests', 'jest/bin/jest.js')
}

main().catch((error) => {
  console.error(`npm test: ${error.message}`)
  process.exit(1)
})
