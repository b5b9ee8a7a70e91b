import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { honestCall, hostileBodies } from './bodies'
import { type Gateway } from './gateway'
import { post } from './post'

const CONNECTIONS = 200
const BYTES_PER_SECOND = 10_000_000
const PAUSE_MS = 10
const PAYERS = 10
const ATTACKERS = 20
const CREDITS = 1_000_000

type Latencies = { p50: number; p99: number }
export type Beside = { alone: Latencies; beside: Latencies; megabytesPerSecond: number; statuses: string }

/** The latencies of paying callers alone, and then beside hostile bodies over many connections. */
export async function measurePayingCallers(gateway: Gateway, seconds: number): Promise<Beside> {
  const payers = await signInMany(gateway, PAYERS, CREDITS)
  await latencies(gateway, payers, 2)
  const alone = await latencies(gateway, payers, seconds)
  const stop = await attack(gateway)
  await delay(1_000)
  const beside = await latencies(gateway, payers, seconds)
  return { alone, beside, ...(await stop()) }
}

const signInMany = (gateway: Gateway, count: number, credits: number) =>
  Promise.all(Array.from({ length: count }, () => gateway.signIn(credits)))

/** One call of each caller at a time, with pauses, to stay below the rate limit and not load the machine. */
async function latencies(gateway: Gateway, payers: readonly string[], seconds: number): Promise<Latencies> {
  const dispatcher = new Agent({ connections: payers.length })
  const end = performance.now() + 1000 * seconds
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

async function attack(gateway: Gateway) {
  const tokens = await signInMany(gateway, ATTACKERS, 0)
  const bodies = Object.values(hostileBodies)
  const dispatcher = new Agent({ connections: CONNECTIONS })
  const statuses = new Map<number | string, number>()
  const startedAt = performance.now()
  const state = { isOver: false, sentBytes: 0, next: 0 }
  const aheadMs = () => (1000 * state.sentBytes) / BYTES_PER_SECOND - (performance.now() - startedAt)
  async function lane() {
    while (!state.isOver) {
      const ahead = aheadMs()
      if (ahead > 0) {
        await delay(Math.min(ahead, 1_000))
        continue
      }
      const turn = state.next++
      const [body, token] = [bodies[turn % bodies.length] ?? '', tokens[turn % tokens.length] ?? '']
      state.sentBytes += Buffer.byteLength(body)
      const status = await post(gateway, token, body, { dispatcher }).catch(() => 'cut off')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const lanes = Promise.all(Array.from({ length: CONNECTIONS }, lane))
  return async () => {
    state.isOver = true
    const megabytesPerSecond = state.sentBytes / 1000 / (performance.now() - startedAt)
    await lanes
    await dispatcher.destroy()
    const counts = [...statuses].sort().map(([status, count]) => `${count} x ${status}`)
    return { megabytesPerSecond, statuses: counts.join(', ') }
  }
}
