import { type CounterSeries, type Metrics } from '@tollgate/service'
import { methodClasses, type MethodClass } from './method-class'

/**
 * `answered`, also with an error of the node. Not charged: `method_not_found`, `upstream_failed`, `withheld` (the charge could not
 * be confirmed), `defect` (an error of ours), `payment_required` (answered with 402), `refused` (before it was charged), `repeated`
 * (the stored answer of an earlier call).
 * `upstream_timeout`, `upstream_refused`: charged, because the wallet had too many. `caller_left`: charged if an upstream may have executed it.
 */
const callOutcomes = [
  'answered',
  'cut_off',
  'method_not_found',
  'upstream_failed',
  'upstream_timeout',
  'upstream_refused',
  'caller_left',
  'withheld',
  'defect',
  'payment_required',
  'refused',
  'repeated',
] as const
export type CallOutcome = (typeof callOutcomes)[number]

export type CountCall = (outcome: CallOutcome) => void

export function createCallMetrics(metrics: Metrics) {
  const calls = metrics.counter({
    name: 'tollgate_calls_total',
    help: 'Calls to chains of the catalog, by class of method and by outcome; a batch is one call',
    labelNames: ['chain', 'method_class', 'outcome'],
  })
  const known = new Map<string, Record<MethodClass, Record<CallOutcome, CounterSeries>>>()

  /** All series of a chain start at zero with its first call. */
  function seriesOf(chain: string) {
    const existing = known.get(chain)
    if (existing) return existing
    const created = recordOf(methodClasses, (method_class) =>
      recordOf(callOutcomes, (outcome) => calls.series({ chain, method_class, outcome })),
    )
    known.set(chain, created)
    return created
  }
  /** `chain`: its CAIP-2 id, of the catalog. */
  return (chain: string, methodClass: MethodClass): CountCall => {
    const series = seriesOf(chain)[methodClass]
    return (outcome) => series[outcome].inc()
  }
}

const recordOf = <K extends string, V>(keys: readonly K[], valueOf: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, valueOf(key)])) as Record<K, V>
