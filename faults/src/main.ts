import { constants } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '@tollgate/e2e/testing/world'
import { burst } from './burst'
import { clock } from './clock/clock'
import { cosmosBurst } from './cosmos/burst'
import { cosmosCarousel } from './cosmos/carousel'
import { cosmosHighGasPrice } from './cosmos/high-gas-price'
import { cosmosMempoolEviction } from './cosmos/mempool-eviction'
import {
  cosmosCrashPoints,
  cosmosPayPerRequestCrashPoints,
  crashPoints,
  payPerRequestCrashPoints,
} from './crash-points'
import { cosmosFaultyNode, faultyNode } from './faulty-node'
import { facilitatorStalled } from './facilitator-stalled'
import { gasSpike } from './gas-spike'
import { cosmosGatewayKilled, gatewayKilled } from './gateway-killed'
import { gatewayStalled } from './gateway-stalled'
import { cosmosDelayedBlock, delayedBlock } from './delayed-block'
import { cosmosOnePayment, onePayment } from './one-payment'
import { cosmosOutagesUnderLoad, outagesUnderLoad } from './outages'
import { replicaKilled } from './availability/replica-killed'
import { postgresRestarted, redisAway } from './availability/stores-away'
import {
  pgBouncerRestarted,
  postgresPromoted,
  postgresReadOnly,
  redisPromoted,
} from './availability/store-failovers'
import { restoreUnderLoad } from './availability/restore'
import { rollVersions } from './availability/roll-versions'
import { rollingRestarts } from './availability/rolling-restarts'
import { rotationsUnderLoad } from './availability/rotations'
import { reorg } from './reorg'
import { openReport } from './report'
import { type Result, type Scenario, type Stage } from './scenario'
import { slowUpstream } from './slow-upstream'
import { stuckTransaction } from './stuck-transaction'

const scenarios: Scenario[] = [
  crashPoints,
  payPerRequestCrashPoints,
  gatewayKilled,
  gatewayStalled,
  slowUpstream,
  facilitatorStalled,
  burst,
  onePayment,
  delayedBlock,
  reorg,
  gasSpike,
  stuckTransaction,
  faultyNode,
  outagesUnderLoad,
  rollingRestarts,
  rollVersions,
  rotationsUnderLoad,
  replicaKilled,
  postgresRestarted,
  redisAway,
  pgBouncerRestarted,
  postgresReadOnly,
  postgresPromoted,
  redisPromoted,
  restoreUnderLoad,
  clock,
  cosmosCrashPoints,
  cosmosPayPerRequestCrashPoints,
  cosmosGatewayKilled,
  cosmosBurst,
  cosmosCarousel,
  cosmosOnePayment,
  cosmosDelayedBlock,
  cosmosMempoolEviction,
  cosmosHighGasPrice,
  cosmosFaultyNode,
  cosmosOutagesUnderLoad,
]

const HELP = `Usage: pnpm faults [NAME | NAME/PART ...] [--rounds N] [--report FOLDER]

Starts both services on a new chain and new stores, injects faults repeatedly, and checks after each that no call and no
payment was lost, duplicated or free. Needs a build. Successful scenarios are written to docs/reliability.md, row by row; rows of
other and failed scenarios are unchanged. Exits with 0 if everything held, otherwise with 1.

${scenarios.map(({ name, rounds, help }) => `${name} (${rounds} rounds)\n  ${help}`).join('\n\n')}

  --rounds N        rounds of each scenario: each round injects all its faults once or, where stated, the next one; the default
                    depends on the scenario
  --from VERSION    the version before this one, for roll-versions: a commit, or the folder of its build
  --report FOLDER   folder of reliability.md, and of reliability.json, from which it is rendered (docs)
  --help            this text
`

const say = (line: string) => void process.stdout.write(`${line}\n`)
const sayError = (line: string) => void process.stderr.write(`${line}\n`)

function readCommand() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      from: { type: 'string' },
      report: { type: 'string', default: join(root, 'docs') },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
  if (rounds !== undefined && (!Number.isInteger(rounds) || rounds < 1))
    throw new Error('--rounds: expected a whole number, at least 1')
  return {
    help: values.help,
    rounds,
    from: values.from,
    reportFolder: values.report,
    chosen:
      positionals.length > 0
        ? choose(positionals)
        : scenarios
            .filter(({ needsVersion }) => !needsVersion || values.from !== undefined)
            .map((scenario): Chosen => ({ scenario })),
  }
}
type Command = ReturnType<typeof readCommand>
type Chosen = { scenario: Scenario; parts?: string[] }

/** A scenario that is named both whole and in parts runs whole. */
function choose(names: string[]): Chosen[] {
  const chosen = new Map<Scenario, Chosen>()
  for (const given of names) {
    const [name, part] = given.split('/', 2)
    const scenario = scenarios.find((candidate) => candidate.name === name)
    if (!scenario || (part !== undefined && !scenario.parts?.includes(part)))
      throw new Error(`There is no fault "${given}"`)
    const { parts = [] } = chosen.get(scenario) ?? {}
    const isWhole = part === undefined || (chosen.has(scenario) && parts.length === 0)
    chosen.set(scenario, isWhole ? { scenario } : { scenario, parts: [...parts, part] })
  }
  return [...chosen.values()]
}

async function main(): Promise<number> {
  let command: Command
  try {
    command = readCommand()
  } catch (error) {
    sayError(`faults: ${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    return 2
  }
  if (command.help) {
    say(HELP)
    return 0
  }

  const stopping = new AbortController()
  const interrupted = new Promise<number>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(name, () => {
        // A second signal ends the process at once; its children end with it.
        if (stopping.signal.aborted) process.exit(1)
        say('· stopping …')
        stopping.abort()
        resolve(128 + constants.signals[name])
      })
  })
  const problems: string[] = []
  const names = scenarios.map(({ name }) => name)
  const report = openReport(command.reportFolder, names)
  for (const chosen of command.chosen) {
    const closing: (() => unknown)[] = []
    const playing = play(chosen, {
      rounds: command.rounds ?? chosen.scenario.rounds,
      ...(chosen.parts ? { parts: chosen.parts } : {}),
      ...(command.from === undefined ? {} : { from: command.from }),
      signal: stopping.signal,
      closeLater: (close) => closing.push(close),
      say,
    })
    try {
      // An interrupted run is not awaited.
      const played = await Promise.race([playing, interrupted])
      if (typeof played === 'number') return played
      problems.push(...played.problems)
      if (played.problems.length === 0)
        report.write(chosen.scenario.name, played.rows, { isWhole: chosen.parts === undefined })
    } finally {
      for (const close of closing.reverse()) await close()
    }
  }
  if (problems.length === 0) say('Everything held.')
  else sayError(`${problems.length} violations:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  return problems.length === 0 ? 0 : 1
}

/** An exception in a scenario counts as a problem; the others still run. */
async function play({ scenario: { name, run } }: Chosen, stage: Stage): Promise<Result> {
  say(`${name}, ${stage.rounds} rounds`)
  try {
    const { problems, rows } = await run(stage)
    return { problems: problems.map((problem) => `${name}: ${problem}`), rows }
  } catch (error) {
    return { problems: [`${name} broke off: ${textOf(error)}`], rows: [] }
  }
}

const textOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error))

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    sayError(`faults: ${textOf(error)}`)
    process.exit(1)
  },
)
