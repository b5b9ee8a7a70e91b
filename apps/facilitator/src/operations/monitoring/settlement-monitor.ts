import { type Pool } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { isOpenSql, openStatuses, type OpenStatus } from '../../settlement/status'
import { type MonitoredSigner } from './monitored-signer'

const POLL_INTERVAL_MS = 5_000
const STUCK_SECONDS = 120
const LOG_INTERVAL_MS = 60_000

type OpenRow = {
  network: string
  state: OpenStatus
  count: bigint
  stuck: bigint
  oldestSeconds: number
  oldest: bigint
  lastError: string | null
}

type UnminedRow = { network: string; signer: string; count: bigint }

const OPEN = `
SELECT network, status AS state, count(*) AS count,
  count(*) FILTER (WHERE created_at < now() - make_interval(secs => $1)) AS stuck,
  extract(epoch FROM now() - min(created_at))::float8 AS "oldestSeconds",
  (array_agg(id ORDER BY created_at, id))[1] AS oldest, (array_agg(last_error ORDER BY created_at, id))[1] AS "lastError"
FROM settlements WHERE ${isOpenSql('settlements')} GROUP BY network, status`

/** A transaction signed by its payer uses no nonce of the signer. */
const UNMINED = `
SELECT network, signer, count(*) AS count FROM transactions WHERE status = 'signed' AND nonce IS NOT NULL
GROUP BY network, signer`

/**
 * Reads open settlements from the database, so that every replica exports the same values. Includes networks that are no
 * longer configured, whose settlements no settler completes. Logs stuck settlements once a minute.
 */
export function startSettlementMonitor(parts: {
  pool: Pool
  metrics: Metrics
  logger: Logger
  signers: readonly Pick<MonitoredSigner, 'network' | 'signer'>[]
  now: () => Date
  everyMs?: number
}) {
  const { pool, metrics, logger, signers, now, everyMs = POLL_INTERVAL_MS } = parts
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name: `tollgate_settlements_${name}`, help, labelNames: ['network', 'state'] })
  const open = gauge('open', 'Settlements that are not complete')
  const oldest = gauge(
    'oldest_age_seconds',
    'Age of the oldest open settlement since its claim; 0 if none is open',
  )
  const stuck = gauge('stuck', 'Settlements that are open more than two minutes after their claim')
  const unmined = metrics.gauge({
    name: 'tollgate_signer_pending_transactions',
    help: 'Transactions of a signer that are signed and not known to be mined',
    labelNames: ['network', 'signer'],
  })
  const readAt = metrics.gauge({
    name: 'tollgate_settlement_stats_updated_timestamp_seconds',
    help: 'When the open settlements were last read from the database, in Unix seconds',
  })
  let loggedAt: number | undefined

  function exportRows(rows: readonly OpenRow[], waiting: readonly UnminedRow[], time: number) {
    for (const one of [open, oldest, stuck, unmined]) one.reset()
    for (const {
      network: { name: network },
      signer,
    } of signers) {
      unmined.set({ network, signer }, 0)
      for (const state of openStatuses)
        for (const one of [open, oldest, stuck]) one.set({ network, state }, 0)
    }
    for (const { network, state, ...row } of rows) {
      open.set({ network, state }, Number(row.count))
      oldest.set({ network, state }, Math.max(0, row.oldestSeconds))
      stuck.set({ network, state }, Number(row.stuck))
    }
    for (const { network, signer, count } of waiting) unmined.set({ network, signer }, Number(count))
    readAt.set(time / 1000)
  }

  function logStuck(rows: readonly OpenRow[], time: number) {
    const overdue = rows.filter((row) => row.stuck > 0n).sort((a, b) => b.oldestSeconds - a.oldestSeconds)
    const [first] = overdue
    if (!first) return void (loggedAt = undefined)
    if (loggedAt !== undefined && time - loggedAt < LOG_INTERVAL_MS) return
    loggedAt = time
    const count = (state: OpenStatus) =>
      overdue.reduce((sum, row) => (row.state === state ? sum + Number(row.stuck) : sum), 0)
    logger.warn('settlements stuck', {
      ...Object.fromEntries(openStatuses.map((state) => [state, count(state)])),
      oldest: first.oldest,
      oldestSeconds: Math.floor(first.oldestSeconds),
      network: first.network,
      state: first.state,
      lastError: first.lastError ?? undefined,
    })
  }

  return startInterval({
    everyMs,
    async work() {
      const time = now().getTime()
      const [found, waiting] = await Promise.all([
        pool.query<OpenRow>({ name: 'open-settlements', text: OPEN, values: [STUCK_SECONDS] }),
        pool.query<UnminedRow>({ name: 'unmined', text: UNMINED }),
      ])
      exportRows(found.rows, waiting.rows, time)
      logStuck(found.rows, time)
    },
    onError: (error) => logger.warn('open settlement query failed', { error }),
  })
}
