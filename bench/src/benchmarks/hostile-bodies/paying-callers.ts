import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Agent } from 'undici'
import { medianOf } from '../../rounds'
import { tally } from '../../table'
import { type AttackPlan, type Attacked } from './attack'
import { honestCall } from './bodies'
import { type Gateway } from './gateway'
import { post } from './post'

const PAUSE_MS = 10
const PAYERS = 10
const ATTACKERS = 20
const CREDITS = 1_000_000
const MEASURED_MS = 3_000
const ATTACK_AHEAD_MS = 500

type Latencies = { p50: number; p99: number }
export type Beside = {
  alone: Latencies
  beside: Latencies
  /** The median of the rounds: other work of the machine affects both measurements of a round. */
  p99Ratio: number
  megabytesPerSecond: number
  statuses: string
}

/** The latencies of paying callers, in each round alone and then beside hostile bodies over many connections. */
export async function measurePayingCallers(gateway: Gateway, rounds: number): Promise<Beside> {
  const payers = await signInMany(gateway, PAYERS, CREDITS)
  const attackers = await signInMany(gateway, ATTACKERS, 0)
  await latencies(gateway, payers)
  const measured: { alone: Latencies; beside: Latencies; attacked: Attacked }[] = []
  for (let round = 0; round < rounds; round++) {
    const alone = await latencies(gateway, payers)
    const stop = attack(gateway, attackers)
    await delay(ATTACK_AHEAD_MS)
    const beside = await latencies(gateway, payers)
    measured.push({ alone, beside, attacked: await stop() })
  }
  const medians = (of: readonly Latencies[]): Latencies => ({
    p50: medianOf(of, ({ p50 }) => p50),
    p99: medianOf(of, ({ p99 }) => p99),
  })
  return {
    alone: medians(measured.map(({ alone }) => alone)),
    beside: medians(measured.map(({ beside }) => beside)),
    p99Ratio: medianOf(measured, ({ alone, beside }) => beside.p99 / alone.p99),
    megabytesPerSecond: medianOf(measured, ({ attacked }) => attacked.megabytesPerSecond),
    statuses: tally(measured.flatMap(({ attacked }) => attacked.statuses)),
  }
}

const signInMany = (gateway: Gateway, count: number, credits: number) =>
  Promise.all(Array.from({ length: count }, () => gateway.signIn(credits)))

/** One call of each caller at a time, with pauses, to stay below the rate limit and not load the machine. */
async function latencies(gateway: Gateway, payers: readonly string[]): Promise<Latencies> {
  const dispatcher = new Agent({ connections: payers.length })
  const end = performance.now() + MEASURED_MS
  const times: number[] = []
  async function call(token: string) {
    while (performance.now() < end) {
      const sentAt = performance.now()
      const status = await post(gateway, token, honestCall, { dispatcher })
      if (status !== 200) throw new Error(`A paid call was answered ${status}`)
      times.push(performance.now() - sentAt)
      await delay(PAUSE_MS)
    }
  }
  await Promise.all(payers.map(call))
  await dispatcher.close()
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/** In a thread of its own, so that writing large bodies does not delay the clock of the paying callers. */
function attack({ url }: Gateway, tokens: readonly string[]): () => Promise<Attacked> {
  const plan: AttackPlan = { url, tokens }
  const worker = new Worker(join(__dirname, 'attack.js'), { workerData: plan })
  const ended = once(worker, 'message') as Promise<[Attacked]>
  // Awaited only at the end.
  ended.catch(() => undefined)
  return async () => {
    worker.postMessage('stop')
    const [attacked] = await ended
    await worker.terminate()
    return attacked
  }
}
