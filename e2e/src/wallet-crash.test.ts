import { USDC_ADDRESS } from '@tollgate/devnet'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { follow } from './testing/program'
import { crashSteps, type CrashStep } from './testing/wallet-crash'
import { root } from './testing/world'

/** Of each step. `CRASH_ROUNDS=20` for more. */
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 2)
const PRICE = 10_000n

let world: ObservedWorld
let folder: string

beforeAll(async () => {
  world = await startObservedWorld()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-wallet-'))
}, 120_000)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await world.stop()
}, 30_000)

type Run = { privateKey: string; state: string; crashAt?: CrashStep; calls?: number }

async function run({ privateKey, state, crashAt, calls = 1 }: Run) {
  const env = {
    ...process.env,
    GATEWAY: world.gateway.url,
    PRIVATE_KEY: privateKey,
    ASSET: USDC_ADDRESS,
    FOLDER: join(folder, state),
    CALLS: String(calls),
    ...(crashAt ? { CRASH_AT: crashAt } : {}),
  }
  const program = follow(spawn(process.execPath, [join(root, 'e2e/dist/testing/wallet-crash.js')], { env }))
  if (program.child.exitCode === null && program.child.signalCode === null) await once(program.child, 'close')
  return { signal: program.child.signalCode, output: program.output() }
}

const answered = (output: string) =>
  JSON.parse(output) as { results: string[]; events: string[]; credits: { remaining_credits: number }[] }

async function expectOnePayment(address: string): Promise<void> {
  expect(await world.token.balanceOf(address)).toBe(BUDGET - PRICE)
  expect(await world.ledger.payments(address)).toEqual([
    expect.objectContaining({ status: 'credited', credits: 100, grants: 1n }),
  ])
}

describe.each(crashSteps)('a wallet killed when its payment is %s', (step) => {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round)
  test.each(rounds)('pays once, round %i', async (round) => {
    const { address, privateKey } = await world.newPayer()
    const state = `${step}-${round}`
    const killed = await run({ privateKey, state, crashAt: step })
    expect(killed).toEqual({ signal: 'SIGKILL', output: '' })

    const restarted = await run({ privateKey, state })
    const { results, credits } = answered(restarted.output)
    expect(results).toEqual(['0x14a34'])
    expect(credits[0]?.remaining_credits).toBe(step === 'called' ? 98 : 99)
    await expectOnePayment(address)
  })
})

test('two processes at once share one session and one payment', async () => {
  const { address, privateKey } = await world.newPayer()
  const runs = await Promise.all([1, 2, 3, 4].map(() => run({ privateKey, state: 'shared', calls: 20 })))
  const ended = runs.map(({ output }) => answered(output))
  expect(ended.flatMap(({ results }) => results)).toEqual(Array.from({ length: 80 }, () => '0x14a34'))
  expect(ended.flatMap(({ events }) => events).sort()).toEqual(['paid', 'signed-in'])
  await expectOnePayment(address)
})
