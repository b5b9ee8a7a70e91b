import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Benchmark } from './benchmark'
import { benchmarks } from './benchmarks'
import { shown } from './chart'
import { describeCommit, describeMachine, findVersions, root } from './machine'
import { openReport, readRows } from './report'
import { type Row } from './row'
import { writeScaling } from './scaling/write'
import { markdownTable } from './table'

/** Computes docs/scaling.md from the figures of earlier runs. */
const SCALING = 'scaling'

const HELP = `Usage: pnpm bench [NAME ...] [options]
       pnpm bench scaling [--report FOLDER]

Starts what it measures on stores of its own, runs the contenders in turn in each round, and prints medians and ratios. Writes
docs/benchmarks.json, docs/benchmarks.md and docs/benchmarks/*.svg: the rows of the benchmarks that ran are replaced, all others
stay. Then, or alone with \`pnpm bench scaling\`, computes the tables of docs/scaling.md from all rows. Exits with 0 also if a reach is missed, with 1 if a benchmark failed, with 2 if the command was not understood.

  NAME                benchmarks to run; without a name, all of them
  --rounds N          rounds of each benchmark (5)
  --report FOLDER     folder of benchmarks.json, benchmarks.md and the charts (docs)
  --history-rows N    calls in the long history of "history" (10000000)
  --memory-minutes N  duration of the load of "memory" (10)
  --list              names and titles of the benchmarks
  --help              this text
`

const print = (text: string) => void process.stdout.write(`${text}\n`)
const progress = (line: string) => void process.stderr.write(`· ${line}\n`)

function readCommand(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      'history-rows': { type: 'string', default: '10000000' },
      'memory-minutes': { type: 'string', default: '10' },
      report: { type: 'string', default: join(root, 'docs') },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const amount = (name: 'rounds' | 'history-rows' | 'memory-minutes') => {
    const value = Number(values[name])
    if (!Number.isInteger(value) || value < 1)
      throw new Error(`--${name}: expected a whole number, at least 1`)
    return value
  }
  const amounts = {
    rounds: amount('rounds'),
    historyRows: amount('history-rows'),
    memoryMinutes: amount('memory-minutes'),
  }
  const isScaling = positionals.length === 1 && positionals[0] === SCALING
  const unknown = isScaling
    ? undefined
    : positionals.find((name) => !benchmarks.some((benchmark) => benchmark.name === name))
  if (unknown !== undefined) throw new Error(`There is no benchmark "${unknown}"`)
  const chosen = isScaling
    ? []
    : benchmarks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  return { help: values.help, list: values.list, amounts, reportFolder: values.report, chosen }
}
type Command = ReturnType<typeof readCommand>

async function main(args: string[]): Promise<number> {
  let command: Command
  try {
    command = readCommand(args)
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    return 2
  }
  if (command.help) process.stdout.write(HELP)
  else if (command.list) for (const { name, title } of benchmarks) print(`${name.padEnd(24)}${title}`)
  else return runAll(command, ['pnpm bench', ...args].join(' '))
  return 0
}

async function runAll({ chosen, amounts, reportFolder }: Command, command: string): Promise<number> {
  const interrupted = untilInterrupted()
  const report = openReport(reportFolder, benchmarks)
  const run = { machine: describeMachine(), versions: findVersions(), command, commit: describeCommit() }
  let failed = 0
  for (const benchmark of chosen) {
    progress(`${benchmark.name}: ${benchmark.title}`)
    const outcome = await measure(benchmark, amounts, interrupted)
    if (typeof outcome === 'number') return outcome
    if (outcome instanceof Error) {
      failed++
      process.stderr.write(`bench: ${benchmark.name} failed: ${outcome.stack ?? outcome.message}\n`)
      continue
    }
    const date = new Date().toISOString().slice(0, 10)
    print(resultTable(benchmark, report.write(benchmark.name, outcome, { ...run, date })))
  }
  if (writeScaling(reportFolder, readRows(reportFolder)))
    progress(`computed ${join(reportFolder, 'scaling.md')}`)
  return failed === 0 ? 0 : 1
}

/** The outcome, the error of a benchmark that failed, or the exit code of an interrupted run. Everything it opened is closed. */
async function measure(benchmark: Benchmark, amounts: Command['amounts'], interrupted: Promise<number>) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const closeLater = (close: () => unknown) => void closing.push(close)
  const running = benchmark.run({ ...amounts, folder, closeLater, progress })
  // An interrupted run is not awaited.
  running.catch(() => undefined)
  try {
    return await Promise.race([running, interrupted])
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    for (const close of closing.reverse())
      await Promise.resolve()
        .then(close)
        .catch((error: unknown) => progress(`could not close: ${String(error)}`))
  }
}

/** Resolves with the exit code. A second signal ends the process at once, and its children with it. */
function untilInterrupted(): Promise<number> {
  let isStopping = false
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(name, () => {
        if (isStopping) process.exit(1)
        isStopping = true
        progress('stopping …')
        resolve(128 + constants.signals[name])
      })
  })
}

function resultTable({ title }: Benchmark, rows: readonly Row[]): string {
  const cells = rows.map(({ measured, against, ratio, reach, met, note }) => [
    measured,
    against,
    ratio === null ? (note ?? 'not measured') : shown(ratio),
    reach,
    met === null ? '' : met ? 'yes' : 'no',
  ])
  return `\n${title}\n\n${markdownTable(['Measured', 'Against', 'Ratio', 'Reach', 'Met'], cells)}`
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(
      `bench: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
    process.exit(1)
  },
)
