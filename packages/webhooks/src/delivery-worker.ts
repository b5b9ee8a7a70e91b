import { type Pool } from '@tollgate/database'
import { startInterval, type Logger, type Metrics, type Resolve } from '@tollgate/service'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDeliveryMetrics } from './delivery-metrics'
import { createDeliveryStore, END_BATCH, type AttemptResult, type ClaimedDelivery } from './delivery-store'
import { retryDelay } from './retry-delay'
import { sendDelivery } from './send-delivery'

const POLL_INTERVAL_MS = 500
const OVERDUE_INTERVAL_MS = 5_000
const UPKEEP_INTERVAL_MS = 60_000
/** Of one replica. */
const MAX_AT_ONCE = 96
/** At a shutdown, for attempts that have begun. */
const GRACE_MS = 3_000
/** After a longer time between the claim and the request nothing is sent: another replica may have the delivery by then. */
const MAX_STALL_MS = 5_000

export type DeliveryWorkerParts = {
  pool: Pool
  /** Statement that writes the events of payments that are pending for too long, each once. */
  overdue: string
  /** Types of events that exist only for owners that have paid. */
  paidEvents: readonly string[]
  isProduction: boolean
  logger: Logger
  metrics: Metrics
  now: () => Date
  resolve?: Resolve
  random?: () => number
}

/** Sends deliveries at least once, and those of one subject to one endpoint in order. Runs on every replica. */
export function createDeliveryWorker(parts: DeliveryWorkerParts) {
  const { pool, overdue, isProduction, logger, now, resolve, random = Math.random } = parts
  const store = createDeliveryStore(pool, parts.paidEvents)
  const metrics = createDeliveryMetrics(parts.metrics)
  const stopping = new AbortController()
  const interrupting = new AbortController()
  const inFlight = new Set<Promise<void>>()
  let running: Promise<void> | undefined
  let intervals: { stop: () => Promise<void> }[] = []
  let wake = () => {}

  async function attempt(delivery: ClaimedDelivery, claimedAtMs: number): Promise<void> {
    const startedAtMs = performance.now()
    if (startedAtMs - claimedAtMs > MAX_STALL_MS) return store.release(delivery)
    const signal = interrupting.signal
    const sent = sendDelivery(delivery, { isProduction, signal, now, ...(resolve ? { resolve } : {}) })
    const result = await sent.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (!result) return store.release(delivery)
    await record(delivery, { ...result, durationMs: performance.now() - startedAtMs })
  }

  async function record(
    delivery: ClaimedDelivery,
    result: AttemptResult & { durationMs: number },
  ): Promise<void> {
    const { endpointId, messageId, type } = delivery
    if (result.error === null) {
      await store.recordSuccess(delivery, result)
      metrics.count('delivered')
      return
    }
    const retryInMs = retryDelay(delivery.elapsedMs + result.durationMs, random())
    await store.recordFailure(delivery, result, retryInMs)
    metrics.count(retryInMs === undefined ? 'failed' : 'retried')
    const { status, error } = result
    logger.info('webhook attempt failed', {
      endpointId,
      messageId,
      type,
      attempt: delivery.attempt,
      status,
      error,
    })
  }

  function start(delivery: ClaimedDelivery, claimedAtMs: number) {
    const sending = attempt(delivery, claimedAtMs)
      // Its lease ends, and the delivery is sent again.
      .catch((error: unknown) => void logger.warn('webhook attempt not recorded', { error }))
      .finally(() => {
        inFlight.delete(sending)
        wake()
      })
    inFlight.add(sending)
  }

  async function run() {
    while (!stopping.signal.aborted) {
      const woken = new AbortController()
      wake = () => woken.abort()
      const free = MAX_AT_ONCE - inFlight.size
      const claimedAtMs = performance.now()
      const claimed = free > 0 ? await store.claim(free).catch(reportClaim) : []
      for (const delivery of claimed) start(delivery, claimedAtMs)
      const signal = AbortSignal.any([stopping.signal, woken.signal])
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async function inBatches(end: () => Promise<number>, onEnd?: (count: number) => void) {
    for (let ended = END_BATCH; ended === END_BATCH && !stopping.signal.aborted;) {
      ended = await end()
      onEnd?.(ended)
    }
  }

  async function keepUp() {
    await store.forgetPreviousSecrets()
    await inBatches(store.endDeleted)
    await inBatches(store.expire, (ended) => metrics.count('failed', ended))
  }

  function reportClaim(error: unknown): ClaimedDelivery[] {
    logger.warn('webhook claim failed', { error })
    return []
  }

  const every = (everyMs: number, name: string, work: () => Promise<void>) =>
    startInterval({ everyMs, work, onError: (error) => logger.warn(`webhook ${name} failed`, { error }) })

  return {
    begin() {
      running ??= run()
      intervals = [
        every(OVERDUE_INTERVAL_MS, 'overdue scan', async () => void (await pool.query(overdue))),
        every(UPKEEP_INTERVAL_MS, 'upkeep', keepUp),
        every(OVERDUE_INTERVAL_MS, 'backlog query', async () => metrics.backlog(await store.readBacklog())),
      ]
    },

    async close() {
      stopping.abort()
      await Promise.all([running, ...intervals.map((interval) => interval.stop())])
      const timer = setTimeout(() => interrupting.abort(), GRACE_MS)
      await Promise.all(inFlight)
      clearTimeout(timer)
    },
  }
}
