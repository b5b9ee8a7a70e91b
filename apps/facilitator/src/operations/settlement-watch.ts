import { type Pool } from '@tollgate/database'
import { repeat, type Logger, type Metrics } from '@tollgate/service'
import { isOpenSql, openStates, type OpenState } from '../payments/state'
import { type WatchedSigner } from './watched-signer'

const EVERY_MS = 5_000
const STUCK_SECONDS = 120
const TELL_EVERY_MS = 60_000

/** Open settlements of one network in one state. */
type OpenRow = {
  network: string
  state: OpenState
  count: bigint
  stuck: bigint
  oldestSeconds: number
  oldest: bigint
  problem: string | null
}

type UnminedRow = { network: string; signer: string; count: bigint }

const OPEN = `
SELECT network, status AS state, count(*) AS count,
  count(*) FILTER (WHERE created_at < now() - make_interval(secs => $1)) AS stuck,
  extract(epoch FROM now() - min(created_at))::float8 AS "oldestSeconds",
  (array_agg(id ORDER BY created_at, id))[1] AS oldest, (array_agg(problem ORDER BY created_at, id))[1] AS problem
FROM settlements WHERE ${isOpenSql('settlements')} GROUP BY network, status`

/** What a payer signed whole takes no nonce of a signer's. */
const UNMINED = `
SELECT network, signer, count(*) AS count FROM transactions WHERE status = 'signed' AND nonce IS NOT NULL
GROUP BY network, signer`

/**
 * Tells metrics what is open and for how long, as the database has it, so that every replica tells the same; and the log,
 * each minute, while something is stuck. What is of a network that is not configured any more is told as well: nobody
 * ends it.
 */
export function startSettlementWatch(parts: {
  pool: Pool
  metrics: Metrics
  logger: Logger
  signers: readonly Pick<WatchedSigner, 'network' | 'signer'>[]
  now: () => Date
  everyMs?: number
}) {
  const { pool, metrics, logger, signers, now, everyMs = EVERY_MS } = parts
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name: `tollgate_settlements_${name}`, help, labelNames: ['network', 'state'] })
  const open = gauge('open', 'Settlements that are not over, as the database has it')
  const oldest = gauge(
    'oldest_seconds',
    'Since the oldest of the open settlements was claimed; 0 where none is open',
  )
  const stuck = gauge('stuck', 'Settlements that are open for more than two minutes since they were claimed')
  const unmined = metrics.gauge({
    name: 'tollgate_signer_unmined_transactions',
    help: 'Transactions of a signer that are on their way: signed, and not known to be mined and confirmed',
    labelNames: ['network', 'signer'],
  })
  const readAt = metrics.gauge({
    name: 'tollgate_settlements_read_timestamp_seconds',
    help: 'When the figures of open settlements were last read from the database, in Unix seconds',
  })
  let toldAt: number | undefined

  function show(rows: readonly OpenRow[], waiting: readonly UnminedRow[], time: number) {
    for (const one of [open, oldest, stuck, unmined]) one.reset()
    for (const {
      network: { name: network },
      signer,
    } of signers) {
      unmined.set({ network, signer }, 0)
      for (const state of openStates) for (const one of [open, oldest, stuck]) one.set({ network, state }, 0)
    }
    for (const { network, state, ...row } of rows) {
      open.set({ network, state }, Number(row.count))
      oldest.set({ network, state }, Math.max(0, row.oldestSeconds))
      stuck.set({ network, state }, Number(row.stuck))
    }
    for (const { network, signer, count } of waiting) unmined.set({ network, signer }, Number(count))
    readAt.set(time / 1000)
  }

  function tell(rows: readonly OpenRow[], time: number) {
    const overdue = rows.filter((row) => row.stuck > 0n).sort((a, b) => b.oldestSeconds - a.oldestSeconds)
    const [first] = overdue
    if (!first) return void (toldAt = undefined)
    if (toldAt !== undefined && time - toldAt < TELL_EVERY_MS) return
    toldAt = time
    const count = (state: OpenState) =>
      overdue.reduce((sum, row) => (row.state === state ? sum + Number(row.stuck) : sum), 0)
    logger.warn('settlements are stuck', {
      ...Object.fromEntries(openStates.map((state) => [state, count(state)])),
      oldest: first.oldest,
      oldestSeconds: Math.floor(first.oldestSeconds),
      network: first.network,
      state: first.state,
      problem: first.problem ?? undefined,
    })
  }

  return repeat({
    everyMs,
    async work() {
      const time = now().getTime()
      const [found, waiting] = await Promise.all([
        pool.query<OpenRow>({ name: 'open-settlements', text: OPEN, values: [STUCK_SECONDS] }),
        pool.query<UnminedRow>({ name: 'unmined', text: UNMINED }),
      ])
      show(found.rows, waiting.rows, time)
      tell(found.rows, time)
    },
    onError: (error) => logger.warn('open settlements could not be counted', { error }),
  })
}
