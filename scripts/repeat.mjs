import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'

const HELP = `Usage: pnpm repeat FILE... [OPTIONS]

Runs test files many times, each time with a new seed, and prints the output of the runs that failed. Ends with one line
"N passed, N failed", which counts runs. Exit code 0: all runs passed; 1: a run failed; 2: wrong usage.

  --times N     how many runs (default: 20)
  --busy        keeps every core busy meanwhile, as a crowded machine does
  --jest PATH   the test runner (default: the project's own)
  --help        this text
`

const options = {
  times: { type: 'string', default: '20' },
  busy: { type: 'boolean' },
  jest: { type: 'string', default: 'node_modules/jest/bin/jest.js' },
  help: { type: 'boolean' },
}

async function main() {
  const { values, positionals: files } = parseArgs({ options, allowPositionals: true })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const times = Number(values.times)
  if (files.length === 0 || !Number.isInteger(times) || times < 1) {
    process.stderr.write(HELP)
    return 2
  }
  if (values.busy)
    for (let core = 0; core < availableParallelism(); core++) new Worker('for (;;);', { eval: true })

  let passed = 0
  for (let run = 1; run <= times; run++) {
    const startedAt = performance.now()
    const { code, output } = await runOnce(values.jest, files)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    if (code === 0) passed++
    else process.stdout.write(output)
    console.log(`run ${run} of ${times}: ${code === 0 ? 'passed' : 'failed'} in ${seconds} s`)
  }
  console.log(`${passed} passed, ${times - passed} failed`)
  return passed === times ? 0 : 1
}

function runOnce(jest, files) {
  const child = spawn(process.execPath, [jest, '--showSeed', '--runTestsByPath', ...files])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(`repeat: ${error.message}`)
    process.exit(error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1)
  },
)
