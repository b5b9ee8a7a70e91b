import { type Pool } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { openStatuses, type OpenStatus } from '../../settlement/status'
import { readOpenSettlements, type OpenSettlements } from '../settlements/open-settlements'
import { readPendingTransactions, type PendingTransactions } from '../signers/pending-transactions'
import { type MonitoredSigner } from './monitored-signer'

const POLL_INTERVAL_MS = 5_000
const LOG_INTERVAL_MS = 60_000

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

  function exportRows(
    rows: readonly OpenSettlements[],
    pending: readonly PendingTransactions[],
    time: number,
  ) {
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
    for (const { network, signer, count } of pending) unmined.set({ network, signer }, Number(count))
    readAt.set(time / 1000)
  }

  function logStuck(rows: readonly OpenSettlements[], time: number) {
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
      const [open, pending] = await Promise.all([readOpenSettlements(pool), readPendingTransactions(pool)])
      exportRows(open, pending, time)
      logStuck(open, time)
    },
    onError: (error) => logger.warn('open settlement query failed', { error }),
  })
}
