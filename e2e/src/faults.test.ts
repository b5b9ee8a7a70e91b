import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { follow, processesOf } from './testing/program'

const MAIN = join(__dirname, '../dist/faults/main.js')

let folder: string
let reports: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'))
  reports = mkdtempSync(join(tmpdir(), 'tollgate-reports-'))
})
afterEach(() => [folder, reports].forEach((made) => rmSync(made, { recursive: true, force: true })))

/** `pnpm faults` as it is built: a process of its own, with all its state in `folder`, and its report in `reports`. */
function faults(...args: string[]) {
  return follow(
    spawn(process.execPath, [MAIN, ...args, '--report', reports], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

const report = () => readFileSync(join(reports, 'reliability.md'), 'utf8')

async function held(...args: string[]) {
  const run = faults(...args)
  expect([await run.exited, run.output()]).toEqual([0, expect.stringContaining('Everything held.')])
  return run
}

describe('pnpm faults', () => {
  test('kill -9 of the gateway, alone and beside another: no call and no payment is lost, doubled or given away', async () => {
    const run = await held('gateway-killed', '--rounds', '2')
    expect(run.output()).toMatch(/^ *total /m)
  }, 240_000)

  test('kill -9 at a step of a payment: it is settled once, told once and granted once, by whoever takes over', async () => {
    const steps = ['stored', 'recorded', 'credited']
    await held(...steps.map((step) => `crash-points/${step}`), '--rounds', '1')
    expect(report().match(/kill -9 when \w+/g)).toEqual(steps.map((step) => `kill -9 when ${step}`))
  }, 240_000)

  test.each([
    ['one payment, asked for a hundred times at once, is one transaction and one success', 'one-payment'],
    ['five hundred payments at once all succeed, in fewer transactions, with nonces in a row', 'burst'],
    ['a payment that misses its block is pending, and then settled and credited once', 'late-block'],
    ['what a reorg drops is settled again, once', 'reorg'],
  ])('%s', async (_, name) => held(name, '--rounds', '1'), 240_000)

  test('leaves nothing behind when it is interrupted', async () => {
    const run = faults('gateway-killed', '--rounds', '1')
    await run.said('round 1 of 1')
    run.child.kill('SIGINT')
    expect(await run.exited).toBe(130)
    expect([readdirSync(folder), readdirSync(reports), processesOf(folder)]).toEqual([[], [], []])
  }, 120_000)

  test.each([
    [['no-such-fault']],
    [['crash-points/no-such-step']],
    [['burst/claimed']],
    [['--rounds', '0']],
    [['--rounds', 'many']],
    [['--twice']],
  ])('refuses %j with its usage', async (args) => {
    const run = faults(...args)
    expect([await run.exited, run.output()]).toEqual([2, expect.stringContaining('Usage: pnpm faults')])
  })
})
