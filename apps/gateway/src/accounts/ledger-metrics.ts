import { type HistogramSeries, type Metrics } from '@tollgate/service'

/** As the statements of this process answered: the sums over all replicas are those of the ledger. */
export type LedgerMetrics = ReturnType<typeof createLedgerMetrics>

/** `spend-contended`: for accounts whose lock was waited for. `finish-late`: repeated endings, and refunds of orphans. */
export type LedgerBatch = 'spend' | 'spend-contended' | 'finish' | 'finish-late'
const batches: readonly LedgerBatch[] = ['spend', 'spend-contended', 'finish', 'finish-late']

const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export function createLedgerMetrics(metrics: Metrics) {
  const counter = (name: string, help: string) => metrics.counter({ name, help }).series({})
  const size = metrics.histogram({
    name: 'tollgate_ledger_batch_size',
    help: 'Charges or endings of calls in one statement',
    labelNames: ['batch'],
    buckets: ITEMS,
  })
  const wait = metrics.histogram({
    name: 'tollgate_ledger_batch_wait_seconds',
    help: 'How long the oldest charge or ending of a batch waited for its statement to start',
    labelNames: ['batch'],
    buckets: SECONDS,
  })
  const duration = metrics.histogram({
    name: 'tollgate_ledger_statement_duration_seconds',
    help: 'Time from the start of the statement of a batch to its result',
    labelNames: ['batch'],
    buckets: SECONDS,
  })
  const waiting = new Map<LedgerBatch, () => number>()
  metrics.gauge({
    name: 'tollgate_ledger_waiting',
    help: 'Charges or endings of calls that wait for a batch',
    labelNames: ['batch'],
    collect() {
      for (const [batch, count] of waiting) this.set({ batch }, count())
    },
  })
  const byBatch = Object.fromEntries(
    batches.map((batch) => {
      const [items, waited, took] = [size, wait, duration].map((histogram) => histogram.series({ batch }))
      return [batch, { items, waited, took }]
    }),
  ) as Record<LedgerBatch, BatchSeries>

  return {
    sold: counter('tollgate_credits_sold_total', 'Credits that were granted for payments'),
    given: counter('tollgate_credits_given_total', 'Credits that were given free of charge'),
    spent: counter('tollgate_credits_spent_total', 'Credits that were charged for calls'),
    refunded: counter(
      'tollgate_credits_refunded_total',
      'Credits of calls that were given back, also for calls of replicas that died',
    ),
    onBatch:
      (batch: LedgerBatch) =>
      ({ items, waitedMs, tookMs }: { items: number; waitedMs: number; tookMs: number }) => {
        const series = byBatch[batch]
        series.items.observe(items)
        series.waited.observe(waitedMs / 1000)
        series.took.observe(tookMs / 1000)
      },
    watch: (batch: LedgerBatch, count: () => number) => void waiting.set(batch, count),
  }
}

type BatchSeries = Record<'items' | 'waited' | 'took', HistogramSeries>
