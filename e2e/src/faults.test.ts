import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadStreamModule } from './testing/nginx'
import { follow, processesOf } from './testing/program'

const MAIN = join(__dirname, '../../faults/dist/main.js')

const made: string[] = []
afterAll(() => made.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

function newFolder(name: string) {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`))
  made.push(folder)
  return folder
}

const withNginx = loadStreamModule() === undefined ? test.skip : test

/** Runs the built command, with its state in `folder` and its report in `reports`. */
const faults = (...args: string[]) => faultsIn(process.env, ...args)

function faultsIn(environment: NodeJS.ProcessEnv, ...args: string[]) {
  const folder = newFolder('faults')
  const reports = newFolder('reports')
  const child = spawn(process.execPath, [MAIN, ...args, '--report', reports], {
    env: { ...environment, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { ...follow(child), folder, reports }
}

async function held(...args: string[]) {
  const { exited, output, reports } = faults(...args)
  expect([await exited, output()]).toEqual([0, expect.stringContaining('Everything held.')])
  return readFileSync(join(reports, 'reliability.md'), 'utf8')
}

describe('pnpm faults', () => {
  test.each([
    [
      'of a payment: the payment is settled once, reported once and granted once, after a takeover too',
      ['crash-points/recorded', 'crash-points/credited'],
    ],
    [
      'between allowance and payment on a Cosmos chain: the payment is settled once, and nothing is granted twice',
      ['cosmos-crash-points/granted'],
    ],
  ])(
    'kill -9 at a step %s',
    async (_, steps) => {
      const report = await held(...steps, '--rounds', '1')
      expect(report.match(/kill -9 when [\w-]+/g)).toEqual(
        steps.map((step) => `kill -9 when ${step.split('/')[1]}`),
      )
    },
    240_000,
  )

  test('SIGSTOP of a gateway, and of the leader of a signer: no free call, no second transaction, no second success', async () => {
    const report = await held('gateway-stalled', 'facilitator-stalled/stored', '--rounds', '1')
    expect(report).toMatch(/30 calls under way, 30 refunded, 0 answered, 0 of them free, 30 withheld/)
    expect(report).toMatch(/3 successes, 3 transfers/)
  }, 300_000)

  withNginx(
    'a rolling restart of all replicas under load: no request fails (nginx with its stream module)',
    async () => {
      const report = await held('rolling-restarts', '--rounds', '1')
      const counted = /[1-9]\d* requests, 0 failed, .* [1-9]\d* payments credited, [1-9]\d* settled/g
      expect(report.match(counted)).toHaveLength(2)
    },
    300_000,
  )

  test('a scenario that needs nginx says so where it is missing', async () => {
    const { exited, output } = faultsIn({ PATH: '' }, 'rolling-restarts')
    expect([await exited, output()]).toEqual([1, expect.stringContaining('This scenario needs nginx')])
  })

  test('cleans up when interrupted', async () => {
    const { said, child, exited, folder, reports } = faults('gateway-killed', '--rounds', '1')
    await said('round 1 of 1')
    child.kill('SIGINT')
    expect(await exited).toBe(130)
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
    const { exited, output } = faults(...args)
    expect([await exited, output()]).toEqual([2, expect.stringContaining('Usage: pnpm faults')])
  })
})
