import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare } from '../scripts/prepare.mjs'

const HELP = `Usage: node bench/verify.mjs [--requests 20000] [--rounds 5] [--connections 64] [--json FILE] [--profile FOLDER] [--help]

Measures POST /api/v1/verify for EIP-3009 payments: the facilitator as a process of its own, as in production, on a Postgres,
a Redis and a chain of its own. Each payment is signed before the clock starts. Beside it, in the same run and by the same
load, a bare Express app that answers the same JSON bodies. Removes everything afterwards.

"per core" is answers for each second of processor time that the measured process itself used (user and system, all of its
threads): the chain, the stores and the load run beside it and do not count. Chain calls and round trips are counted by a
proxy between the facilitator and its chain.

  --requests N       of each line of the table, in all rounds together; a fifth of it comes on top, to warm up
  --rounds N         how often the lines take turns, so that what else the machine does meets them all; the middle round counts
  --connections N    requests under way at a time
  --json FILE        writes the figures there as well
  --profile FOLDER   leaves a CPU profile of the facilitator there
  --help             this text

Exits with 0 if every verification was answered valid, with 1 if one was not, with 2 if the command was not understood.
`

/** A sequential run takes longer and gives the same information. */
const ALONE_SHARE = 1 / 10
const RECOVERY_SECONDS = 4

function readCommand() {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '20000' },
      rounds: { type: 'string', default: '5' },
      connections: { type: 'string', default: '64' },
      json: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const count = (name, least) => {
    const number = Number(values[name])
    if (!Number.isInteger(number) || number < least)
      throw new Error(`--${name}: expected a whole number, at least ${least}`)
    return number
  }
  const { json, profile, help } = values
  return {
    help,
    requests: count('requests', 100),
    rounds: count('rounds', 1),
    connections: count('connections', 1),
    json: json && resolve(json),
    profile: profile && resolve(profile),
  }
}

async function main(command) {
  await prepare({ projects: ['packages/devnet', 'apps/facilitator'], forTests: false })
  const closing = []
  const close = async () => {
    for (const part of closing.splice(0).reverse()) await part()
  }
  const interrupted = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)))
  const over = interrupted.then(() => 130)
  try {
    return await Promise.race([run(command, (part) => closing.push(part)), over])
  } finally {
    await close()
  }
}

async function run({ requests, rounds, connections, json, profile }, closeLater) {
  const { startFacilitator } = await import('./verify/facilitator.mjs')
  const { startEcho } = await import('./verify/echo-process.mjs')
  const { signPayments } = await import('./verify/payments.mjs')
  const { measure, together } = await import('./verify/load.mjs')
  const { recoveryRates } = await import('./verify/recovery.mjs')

  if (profile) mkdirSync(profile, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  closeLater(() => rmSync(folder, { recursive: true, force: true }))
  const recovery = recoveryRates(RECOVERY_SECONDS)
  progress(
    `signers recovered: ${whole(recovery.native)}/s by native code, ${whole(recovery.slow)}/s by the library that replaces it`,
  )

  const facilitator = await startFacilitator({ folder, profile, closeLater })
  const echo = await startEcho({ folder, closeLater })
  progress('the facilitator, its stores and its chain are up')

  const warmUp = Math.ceil(requests / 5)
  const each = Math.ceil(requests / rounds)
  const eachAlone = Math.ceil(each * ALONE_SHARE)
  const startedAt = performance.now()
  const payments = signPayments(2 + warmUp + rounds * (each + eachAlone))
  progress(`${payments.length} payments signed in ${seconds(startedAt)}`)
  const [one, another] = payments
  let next = 2
  const fresh = (count) => payments.slice(next, (next += count))
  const again = (body) => (count) => Array(count).fill(body)

  const bare = { ...echo, connections, isRight: (text) => text === one }
  const verify = { ...facilitator, connections, isRight: (text) => text.includes('"isValid":true') }
  const lines = [
    { name: 'Express echo', at: bare, take: again(one), each },
    { name: 'verify, all distinct', at: verify, take: fresh, each },
    { name: 'verify, one repeated', at: verify, take: again(another), each },
    { name: 'verify, one at a time', at: { ...verify, connections: 1 }, take: fresh, each: eachAlone },
  ].map((line) => ({ ...line, rounds: [] }))

  for (const { at, take } of lines.slice(0, 3)) await measure({ ...at, bodies: take(warmUp) })
  progress('warmed up')
  for (let round = 1; round <= rounds; round++) {
    for (const line of lines) line.rounds.push(await measure({ ...line.at, bodies: line.take(line.each) }))
    const rates = lines.map(({ name, rounds }) => `${name} ${whole(rounds.at(-1).perCore)}`)
    progress(`round ${round} of ${rounds}, per core: ${rates.join(', ')}`)
  }

  const figures = lines.map(({ name, at, rounds }) => ({
    name,
    connections: at.connections,
    ...together(rounds),
  }))
  report(figures, recovery)
  if (json) {
    const machine = { cpu: cpus()[0]?.model, cores: availableParallelism(), node: process.version }
    const all = { bench: 'verify', at: new Date().toISOString(), machine, recovery, lines: figures }
    writeFileSync(json, `${JSON.stringify(all, null, 2)}\n`)
    progress(`figures written to ${json}`)
  }
  const wrong = figures.flatMap(({ name, wrong }) => wrong.map((text) => `${name}: ${text}`))
  for (const text of wrong.slice(0, 5)) console.error(`bench/verify: not as it should be: ${text}`)
  return wrong.length === 0 ? 0 : 1
}

function report(lines, recovery) {
  const [echo, ...verifying] = lines
  const row = ({ name, ...line }) => [
    name,
    {
      'per core': whole(line.perCore),
      'CPU µs': whole(1e6 / line.perCore),
      'of echo': (line.perCore / echo.perCore).toFixed(2),
      'per s': whole(line.perSecond),
      'p50 ms': line.p50Ms.toFixed(1),
      'p99 ms': line.p99Ms.toFixed(1),
    },
  ]
  const chainRow = ({ name, ...line }) => [
    name,
    {
      'chain calls each': line.callsEach.toFixed(2),
      'round trips each': line.roundTripsEach.toFixed(3),
      cached: `${(100 * line.cachedShare).toFixed(1)} %`,
      'not valid': line.wrong.length,
    },
  ]
  console.table(Object.fromEntries(lines.map(row)))
  console.table(Object.fromEntries(verifying.map(chainRow)))
  const ratio = recovery.native / recovery.slow
  console.log(
    `Signers recovered: ${whole(recovery.native)}/s by native code, ${whole(recovery.slow)}/s by the library that replaces it (${ratio.toFixed(0)} times)`,
  )
}

const progress = (line) => console.log(`· ${line}`)
const whole = (number) => String(Math.round(number))
const seconds = (startedAt) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`

let command
try {
  command = readCommand()
} catch (error) {
  console.error(`bench/verify: ${error.message}\n\n${HELP}`)
  process.exit(2)
}
if (command.help) {
  process.stdout.write(HELP)
} else
  main(command).then(
    (code) => process.exit(code),
    (error) => {
      console.error(`bench/verify: ${error.message}`)
      process.exit(1)
    },
  )
