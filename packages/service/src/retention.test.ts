import { createMetrics } from './metrics/metrics'
import { startRetention, type RetentionRun } from './retention'
import { readableLog } from './testing/log'

function start(run: (count: number, signal: AbortSignal) => Promise<RetentionRun>, times: number) {
  const metrics = createMetrics()
  const log = readableLog()
  let finish: () => void = () => undefined
  const ran = new Promise<void>((resolve) => (finish = resolve))
  let runs = 0
  const job = startRetention({
    run(signal) {
      if (++runs === times) finish()
      return run(runs, signal)
    },
    metrics,
    logger: log.logger,
    everyMs: 1,
  })
  return { job, log, ran, scrape: () => metrics.register.metrics() }
}

test('logs and counts the result of each run, and continues after a failed one', async () => {
  const error = new Error('canceling statement due to lock timeout')
  const { job, log, ran, scrape } = start((count) => {
    if (count === 1) return Promise.reject(new Error('no connection'))
    if (count === 2) return Promise.resolve({ rows: { usage: 3 }, failures: [{ task: 'sessions', error }] })
    return Promise.resolve({ rows: { usage: 0 }, failures: [] })
  }, 4)
  await ran
  await job.stop()
  await log.flushed()
  expect(log.lines()).toEqual([
    expect.objectContaining({ level: 'warn', message: 'retention run failed' }),
    expect.objectContaining({ level: 'warn', message: 'retention task failed', task: 'sessions' }),
    expect.objectContaining({ level: 'info', message: 'retention applied', rows: { usage: 3 } }),
  ])
  const text = await scrape()
  expect(text).toContain('tollgate_retention_rows_total{task="usage"} 3')
  expect(text).toContain('tollgate_retention_failures_total{task="sessions"} 1')
  expect(text).toMatch(/^tollgate_retention_last_run_timestamp_seconds \d+/m)
})

test('does not run at the start, when replicas of the previous version may be running', async () => {
  let runs = 0
  const job = startRetention({
    run: () => Promise.resolve({ rows: { usage: ++runs }, failures: [] }),
    metrics: createMetrics(),
    logger: readableLog().logger,
    everyMs: 60_000,
  })
  await new Promise(setImmediate)
  await job.stop()
  expect(runs).toBe(0)
})

test('aborts the current run when stopped, and waits for it', async () => {
  let ended = false
  const { job, ran } = start(async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    ended = true
    return { rows: {}, failures: [] }
  }, 1)
  await ran
  await job.stop()
  expect(ended).toBe(true)
})
