import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root } from '../scripts/prepare.mjs'

const HELP = `Usage: node bench/hostile-bodies.mjs [--seconds 10] [--rounds 20] [--checkout FOLDER] [--help]

Starts a gateway, then a facilitator, each as a process of its own, as in production, on stores of its own, and sends it
what an attacker would: bodies of few bytes or 1 MiB that cost as much work as they can, bursts of compressed ones, uploads
that stall, and answers that are not read. Prints what each costs, beside what it cost before there were bounds. Removes
everything afterwards. The machine's other work is measured too, so compare the ratios of one run.

  --seconds N        how long paying callers are measured, alone and then beside 10 MB/s of hostile bodies
  --rounds N         how often each body is sent; the least time counts, because other work of the machine only adds to it
  --checkout FOLDER  measures the gateway of another checkout that is built, such as an older one
  --help             this text

Rate limits are wide, but for one measurement that has those of production. Exits with 0 if the bounds hold (15 ms of the event
loop for a body; twice the p99 for paying callers), with 1 if one does not, with 2 if the command was not understood.
`

const WIDE = '1000000'
const wideLimits = { RATE_LIMIT_RPC_PER_MINUTE: WIDE, RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: WIDE }

function readCommand() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '20' },
      checkout: { type: 'string', default: root },
      help: { type: 'boolean', default: false },
    },
  })
  const count = (name) => {
    const number = Number(values[name])
    if (!Number.isInteger(number) || number < 1)
      throw new Error(`--${name}: expected a whole number, at least 1`)
    return number
  }
  return {
    help: values.help,
    seconds: count('seconds'),
    rounds: count('rounds'),
    checkout: resolve(values.checkout),
  }
}

async function main({ seconds, rounds, checkout }) {
  await prepare({ projects: ['packages/devnet', 'apps/gateway', 'apps/facilitator'], forTests: false })
  const attacks = await import('./hostile-bodies/attacks.mjs')

  const costs = await withGateway(checkout, wideLimits, (gateway) => attacks.costOfBodies(gateway, rounds))
  console.log(
    `\nMilliseconds of the event loop for one body, sent ${rounds} times (before: 450 to 730 for the first):`,
  )
  console.table(Object.fromEntries(costs.map(({ name, ...row }) => [name, row])))

  const load = []
  for (const [name, limits] of [
    ['limits wide', wideLimits],
    ['limits of production', {}],
  ])
    load.push({
      name,
      ...(await withGateway(checkout, limits, (gateway) => attacks.payingCallers(gateway, seconds))),
    })
  console.log(
    '\nTen paying callers, alone and beside 10 MB/s of these bodies over 200 connections (before: p50 from 8 to 986 ms at 3 KiB/s):',
  )
  console.table(Object.fromEntries(load.map(({ name, ...row }) => [name, row])))

  const lines = await withGateway(checkout, wideLimits, async (gateway) => [
    await attacks.burst(gateway),
    await attacks.stalledUploads(gateway),
    await attacks.unreadAnswers(gateway),
  ])
  const { facilitatorAttacks } = await import('./hostile-bodies/facilitator.mjs')
  lines.push(...(await inFolder(facilitatorAttacks)))
  console.log('\nBursts, stalls and unread answers:')
  console.table(Object.fromEntries(lines.map(({ name, ...row }) => [name, row])))

  const worst = Math.max(...costs.map((row) => row['least ms']))
  const ratio = Math.max(...load.map((row) => row.ratio))
  console.log(`\nworst body: ${worst} ms (at most 15); worst p99 ratio: ${ratio} (at most 2)`)
  return worst <= 15 && ratio <= 2 ? 0 : 1
}

const interrupted = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)))

async function withGateway(checkout, limits, use) {
  const { startGateway } = await import('./hostile-bodies/gateway.mjs')
  return inFolder(async (place) => use(await startGateway({ checkout, limits, ...place })))
}

async function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const closing = [() => rmSync(folder, { recursive: true, force: true })]
  const stopped = interrupted.then(() => {
    throw new Error('interrupted')
  })
  try {
    return await Promise.race([use({ folder, closeLater: (part) => closing.push(part) }), stopped])
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

let command
try {
  command = readCommand()
} catch (error) {
  console.error(`bench/hostile-bodies: ${error.message}\n\n${HELP}`)
  process.exit(2)
}
if (command.help) process.stdout.write(HELP)
else
  main(command).then(
    (code) => process.exit(code),
    (error) => {
      console.error(`bench/hostile-bodies: ${error.message}`)
      process.exit(1)
    },
  )
