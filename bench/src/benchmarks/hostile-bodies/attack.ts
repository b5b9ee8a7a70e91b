/** The worker thread that sends hostile bodies until it receives a message; it answers with what it sent. */
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Agent } from 'undici'
import { hostileBodies } from './bodies'
import { post } from './post'

const CONNECTIONS = 200
const BYTES_PER_SECOND = 10_000_000

export type AttackPlan = { url: string; tokens: readonly string[] }
export type Attacked = { megabytesPerSecond: number; statuses: (number | 'cut off')[] }

async function attack({ url, tokens }: AttackPlan, stopped: Promise<unknown>): Promise<Attacked> {
  const bodies = Object.values(hostileBodies)
  const dispatcher = new Agent({ connections: CONNECTIONS })
  const statuses: Attacked['statuses'] = []
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
      statuses.push(await post({ url }, token, body, { dispatcher }).catch(() => 'cut off' as const))
    }
  }
  const lanes = Promise.all(Array.from({ length: CONNECTIONS }, lane))
  await stopped
  state.isOver = true
  const megabytesPerSecond = state.sentBytes / 1000 / (performance.now() - startedAt)
  await lanes
  await dispatcher.destroy()
  return { megabytesPerSecond, statuses }
}

if (parentPort) {
  const port = parentPort
  const stopped = new Promise((resolve) => port.once('message', resolve))
  void attack(workerData as AttackPlan, stopped).then((attacked) => port.postMessage(attacked))
}
