/** Labels are fixed sets of words, or names of the configuration or the catalog: never a wallet, an id, a path or a method. */
export type MetricOptions<L extends string> = { name: string; help: string; labelNames?: readonly L[] }

/** A metric without labels takes `{}`, and no number by mistake. */
type Labels<L extends string> = [L] extends [never] ? Record<string, never> : Readonly<Record<L, string>>

type Exemplar = { labelSet: { trace_id: string }; value: number; timestamp: number }
type Value = { value: number; labels: Record<string, string>; metricName?: string; exemplar?: Exemplar }

/** What prom-client's registry reads of a metric. */
export type ReadableMetric = {
  name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  readonly aggregator: 'sum'
  readonly labelNames: readonly string[]
  get: () => Promise<{ name: string; help: string; type: string; aggregator: string; values: Value[] }>
}

export type CounterSeries = { inc: (count?: number) => void }
export type HistogramSeries = { observe: (value: number) => void }

/** The series of a metric by their labels. A paid call keeps its series, because a look-up by labels takes a microsecond. */
function createSeries<L extends string, S>(labelNames: readonly L[], create: () => S) {
  const byKey = new Map<string, { labels: Record<string, string>; state: S }>()
  const stateOf = (labels: Labels<L>): S => {
    const key = labelNames.map((name) => (labels as Record<string, string>)[name]).join('\n')
    const known = byKey.get(key)
    if (known) return known.state
    const state = create()
    byKey.set(key, { labels: { ...labels }, state })
    return state
  }
  if (labelNames.length === 0) stateOf({} as Labels<L>)
  return { stateOf, all: () => [...byKey.values()] }
}

const readable = (
  type: ReadableMetric['type'],
  { name, help, labelNames = [] }: MetricOptions<string>,
  values: () => Value[],
): ReadableMetric => ({
  name,
  help,
  type,
  aggregator: 'sum',
  labelNames,
  get: () => Promise.resolve({ name, help, type, aggregator: 'sum', values: values() }),
})

export function createCounter<L extends string>(options: MetricOptions<L>) {
  const { labelNames = [] } = options
  const { stateOf, all } = createSeries(labelNames, () => {
    const state = {
      count: 0,
      inc(more = 1) {
        state.count += more
      },
    }
    return state
  })
  const metric = readable('counter', options, () =>
    all().map(({ labels, state }) => ({ labels, value: state.count })),
  )
  return {
    metric,
    /** Starts at zero, so that its first increase is seen. */
    series: (labels: Labels<L>): CounterSeries => stateOf(labels),
    inc: (labels: Labels<L>, count?: number) => stateOf(labels).inc(count),
  }
}

const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** `traceId`: of the sampled trace that is observed, if any. Each bucket keeps the latest as its exemplar. */
export function createHistogram<L extends string>(
  options: MetricOptions<L> & { buckets?: readonly number[] },
  traceId: () => string | undefined,
) {
  const { name, labelNames = [], buckets = DEFAULT_BUCKETS } = options
  const { stateOf, all } = createSeries(labelNames, () => {
    const state = {
      counts: Array.from({ length: buckets.length + 1 }, () => 0),
      exemplars: [] as (Exemplar | undefined)[],
      sum: 0,
      observe(value: number, trace = traceId()) {
        let bucket = 0
        while (bucket < buckets.length && value > (buckets[bucket] ?? 0)) bucket++
        state.counts[bucket] = (state.counts[bucket] ?? 0) + 1
        state.sum += value
        if (trace !== undefined)
          state.exemplars[bucket] = { labelSet: { trace_id: trace }, value, timestamp: Date.now() / 1000 }
      },
    }
    return state
  })
  const metric = readable('histogram', options, () => all().flatMap(valuesOf))

  function valuesOf({ labels, state }: ReturnType<typeof all>[number]): Value[] {
    let count = 0
    const values = [...buckets, '+Inf'].map((le, bucket): Value => {
      count += state.counts[bucket] ?? 0
      const exemplar = state.exemplars[bucket]
      const value = { metricName: `${name}_bucket`, labels: { le: String(le), ...labels }, value: count }
      return exemplar ? { ...value, exemplar } : value
    })
    return [
      ...values,
      { metricName: `${name}_sum`, labels, value: state.sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }

  return {
    metric,
    series: (labels: Labels<L>): HistogramSeries => stateOf(labels),
    observe: (labels: Labels<L>, value: number, trace?: string) => stateOf(labels).observe(value, trace),
    /** Creates the series, so that its first observation is seen. */
    zero: (labels: Labels<L>) => void stateOf(labels),
  }
}
