import { until } from '@tollgate/e2e/testing/paying'
import { type PayingChain } from '../paying-chain'
import { type Row, type Stage } from '../scenario'
import { points, type Step } from './steps'
import { type Kill, type CrashHook } from './crash-hook'

type Replica = { url: string; pid: () => number; stop: () => Promise<unknown> }

export type Found = {
  payments: number
  /** By name, as reported: "transfers", "successes". */
  counts: Record<string, number>
  /** From the kill until the survivor had taken over everything; absent if there was nothing to take over. */
  takeoverSeconds?: number | undefined
  recoveredSeconds: number
  problems: string[]
}

export type Target = {
  where: 'facilitator' | 'gateway'
  /** From the kill until every payment has ended and every caller has its response. */
  recoversWithinSeconds: number
  steps: readonly Step[]
  outcome: string
  /** `first` is killed while it runs alone; `addSecond` starts a second replica. */
  first: Replica
  addSecond: () => Promise<Replica>
  /** Makes payments, springs the crash hook among them, and checks their outcomes. */
  play: (round: { round: number; step: Step; replicas: readonly Replica[]; spring: Spring }) => Promise<Found>
}

/** Arms the crash hook, runs `lead`, and resolves after the kill. */
type Spring = (payments: number, lead: () => void) => Promise<Kill>

const KILLED_WITHIN_SECONDS = 30
const PAYMENTS = [3, 4, 5]

export const paymentsIn = (round: number) => PAYMENTS[round % PAYMENTS.length] ?? 3

/**
 * Kills the service at each step, `rounds` times: in turn a single process and one of two, of which the
 * second takes over.
 */
export async function killAtEach(
  target: Target,
  parts: { stage: Stage; chain: PayingChain; crashHook: CrashHook },
) {
  const { where, first, addSecond, play } = target
  const { stage, chain, crashHook } = parts
  const steps = target.steps.filter((step) => stage.parts?.includes(step) ?? true)
  const problems: string[] = []
  const found = new Map<Step, Found[]>(steps.map((step) => [step, []]))

  for (const isAlone of steps.length > 0 ? [true, false] : []) {
    const second = isAlone ? undefined : await addSecond()
    const replicas = [first, ...(second ? [second] : [])]
    for (const [index, step] of steps.entries()) {
      const mine: Found[] = []
      for (let round = 1; round <= stage.rounds; round++) {
        // If all first rounds ran alone, one round each would never test a takeover.
        if (((round + index) % 2 === 1) !== isAlone) continue
        stage.signal.throwIfAborted()
        mine.push(await playRound(step, round, replicas))
      }
      if (mine.length === 0) continue
      found.get(step)?.push(...mine)
      stage.say(`· ${where} ${isAlone ? 'alone' : 'beside another'}, killed when ${step}: ${summarize(mine)}`)
    }
    await second?.stop()
  }
  return { problems, rows: steps.map((step) => rowOf(step, found.get(step) ?? [])) }

  async function playRound(step: Step, round: number, replicas: readonly Replica[]): Promise<Found> {
    // In every third round transactions stay pending.
    const pace = round % 3 === 0 ? 'by-interval' : 'at-once'
    const pids = replicas.map((replica) => replica.pid())
    const spring: Spring = async (payments, lead) => {
      await chain.setPace(pace)
      crashHook.arm(step, points[step].isForEach ? round % payments : 0)
      lead()
      const kill = await crashHook.killed(KILLED_WITHIN_SECONDS)
      if (!pids.includes(kill.pid))
        throw new Error(`the crash hook killed ${kill.pid}, which is none of ${pids.join(', ')}`)
      return kill
    }
    const result = await play({ round, step, replicas, spring }).catch((error: unknown): Found => ({
      payments: paymentsIn(round),
      counts: {},
      recoveredSeconds: Infinity,
      problems: [String(error)],
    }))
    await chain.setPace('at-once')
    if (result.recoveredSeconds > target.recoversWithinSeconds)
      result.problems.push(`it took ${result.recoveredSeconds.toFixed(1)} s until all was in order`)
    await killedIsBack(replicas, pids).catch((error: unknown) => result.problems.push(String(error)))
    for (const problem of result.problems) {
      const line = `${where} killed when ${step}, round ${round}: ${problem}`
      problems.push(line)
      stage.say(`! ${line}`)
    }
    return result
  }

  function rowOf(step: Step, all: Found[]): Row {
    return {
      fault: `kill -9 when ${step}: ${points[step].says}`,
      where,
      times: all.length,
      payments: sum(all.map(({ payments }) => payments)),
      outcome: target.outcome,
      counted: formatCounts(all),
      worstSeconds: worst(all),
    }
  }
}

const killedIsBack = (replicas: readonly Replica[], before: readonly number[]) =>
  until(
    () => Promise.resolve(replicas.map(({ pid }) => pid())),
    (pids) => pids.some((pid, i) => pid !== before[i]),
  )

const sum = (numbers: number[]) => numbers.reduce((all, number) => all + number, 0)
const worst = (all: Found[]) => Math.max(...all.map(({ recoveredSeconds }) => recoveredSeconds))

function formatCounts(all: Found[]) {
  const names = [...new Set(all.flatMap(({ counts }) => Object.keys(counts)))]
  const counts = names.map((name) => `${sum(all.map((one) => one.counts[name] ?? 0))} ${name}`)
  const takeovers = all.flatMap(({ takeoverSeconds: seconds }) => (seconds === undefined ? [] : [seconds]))
  if (takeovers.length > 0)
    counts.push(`${takeovers.length} takeovers within ${Math.max(...takeovers).toFixed(1)} s`)
  return counts.join(', ')
}

const summarize = (all: Found[]) =>
  [
    `${all.length} kills`,
    `${sum(all.map(({ payments }) => payments))} payments`,
    formatCounts(all),
    `all in order within ${worst(all).toFixed(1)} s`,
  ].join(', ')
