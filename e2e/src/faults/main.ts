import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { gatewayKilled } from './gateway-killed'
import { type Scenario } from './scenario'

const scenarios: Scenario[] = [gatewayKilled]

const HELP = `Usage: pnpm faults [NAME...] [--rounds 20]

Brings up both services on a chain and stores of their own, breaks them again and again, and checks after each time that
no call and no payment was lost, doubled or given away. Needs a build. Exits with 0 if all held, 1 if anything did not.

${scenarios.map(({ name, help }) => `${name}\n  ${help}`).join('\n\n')}

  --rounds N   how often each fault is made (20)
  --help       this text
`

const say = (line: string) => void process.stdout.write(`${line}\n`)
const complain = (line: string) => void process.stderr.write(`${line}\n`)

/** The scenarios and rounds that the command line asks for. @throws Error that says what is wrong with it */
function readCommand() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '20' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error('--rounds: expected a whole number, at least 1')
  const chosen = positionals.map((name) => {
    const scenario = scenarios.find((candidate) => candidate.name === name)
    if (!scenario) throw new Error(`There is no fault "${name}"`)
    return scenario
  })
  return { help: values.help, rounds, chosen: chosen.length > 0 ? chosen : scenarios }
}

async function main(): Promise<number> {
  let command: ReturnType<typeof readCommand>
  try {
    command = readCommand()
  } catch (error) {
    complain(`faults: ${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
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
        // Whoever asks twice does not want to wait; nothing that was started outlives this process.
        if (stopping.signal.aborted) process.exit(1)
        say('· stopping …')
        stopping.abort()
        resolve(128 + constants.signals[name])
      })
  })
  const closing: (() => unknown)[] = []
  try {
    const { chosen, rounds } = command
    return await Promise.race([play(chosen, rounds, stopping.signal, closing), interrupted])
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

async function play(chosen: Scenario[], rounds: number, signal: AbortSignal, closing: (() => unknown)[]) {
  const problems: string[] = []
  for (const { name, run } of chosen) {
    say(`${name}, ${rounds} rounds`)
    problems.push(...(await run({ rounds, signal, closeLater: (close) => closing.push(close), say })))
  }
  if (problems.length === 0) say('Everything held.')
  else
    complain(
      `${problems.length} things did not hold:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    )
  return problems.length === 0 ? 0 : 1
}

main().then(
  // What an interrupted run has under way is not waited for.
  (code) => process.exit(code),
  (error: unknown) => {
    complain(`faults: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    process.exit(1)
  },
)
