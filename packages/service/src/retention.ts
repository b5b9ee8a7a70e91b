import { type Logger } from './logger'
import { type Metrics } from './metrics/metrics'
import { startInterval } from './interval'

export type RetentionRun = {
  rows: Readonly<Record<string, number>>
  failures: readonly { task: string; error: unknown }[]
}

const EVERY_MS = 600_000

/**
 * Runs the retention job every ten minutes until stopped. The first run is ten minutes after the start: by then a rolling
 * update has stopped the replicas of the previous version.
 */
export function startRetention(parts: {
  run: (signal: AbortSignal) => Promise<RetentionRun>
  /** Their names, so that the counts of each start at zero. */
  tasks?: readonly string[]
  metrics: Metrics
  logger: Logger
  everyMs?: number
}) {
  const { run, tasks = [], metrics, logger, everyMs = EVERY_MS } = parts
  const rowsTotal = metrics.counter({
    name: 'tollgate_retention_rows_total',
    help: 'Rows that the retention job deleted or emptied',
    labelNames: ['task'],
  })
  const failuresTotal = metrics.counter({
    name: 'tollgate_retention_failures_total',
    help: 'Tasks of the retention job that failed; the next run tries them again',
    labelNames: ['task'],
  })
  for (const task of tasks) for (const total of [rowsTotal, failuresTotal]) total.inc({ task }, 0)
  const lastRun = metrics.gauge({
    name: 'tollgate_retention_last_run_timestamp_seconds',
    help: 'When this process last ended a run of the retention job',
  })
  const stopping = new AbortController()
  let isFirst = true

  const runs = startInterval({
    everyMs,
    async work() {
      if (isFirst) {
        isFirst = false
        return
      }
      const startedAt = performance.now()
      const { rows, failures } = await run(stopping.signal)
      lastRun.set(Date.now() / 1000)
      for (const [task, count] of Object.entries(rows)) rowsTotal.inc({ task }, count)
      for (const { task, error } of failures) {
        failuresTotal.inc({ task })
        logger.warn('retention task failed', { task, error })
      }
      if (Object.values(rows).some((count) => count > 0))
        logger.info('retention applied', { rows, durationMs: Math.round(performance.now() - startedAt) })
    },
    onError: (error) => logger.warn('retention run failed', { error }),
  })

  return {
    async stop() {
      stopping.abort()
      await runs.stop()
    },
  }
}
