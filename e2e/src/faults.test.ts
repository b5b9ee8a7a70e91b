import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { follow, processesOf } from './testing/program'

const MAIN = join(__dirname, '../dist/faults/main.js')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** `pnpm faults` as it is built: a process of its own, with all its state in `folder`. */
function faults(...args: string[]) {
  return follow(
    spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

describe('pnpm faults', () => {
  test('kill -9 of the gateway, alone and beside another: no call and no payment is lost, doubled or given away', async () => {
    const run = faults('gateway-killed', '--rounds', '2')
    expect([await run.exited, run.output()]).toEqual([0, expect.stringContaining('Everything held.')])
    expect(run.output()).toMatch(/^ *total /m)
  }, 240_000)

  test('leaves nothing behind when it is interrupted', async () => {
    const run = faults('--rounds', '1')
    await run.said('round 1 of 1')
    run.child.kill('SIGINT')
    expect(await run.exited).toBe(130)
    expect([readdirSync(folder), processesOf(folder)]).toEqual([[], []])
  }, 120_000)

  test.each([[['no-such-fault']], [['--rounds', '0']], [['--rounds', 'many']], [['--twice']]])(
    'refuses %j with its usage',
    async (args) => {
      const run = faults(...args)
      expect([await run.exited, run.output()]).toEqual([2, expect.stringContaining('Usage: pnpm faults')])
    },
  )
})
