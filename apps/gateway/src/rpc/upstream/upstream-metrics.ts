import { withTimeout } from '@tollgate/protocol'
import { type CounterSeries, type HistogramSeries, type Metrics } from '@tollgate/service'
import { endpointsOf, type Catalog, type Endpoint, type Provider } from '../../catalog/catalog'
import { type CircuitState } from './circuit-breaker'
import { refusalKinds } from './provider-refusals'

/**
 * `unsent`: no connection. `reset`: it broke. `failed`: it answered that it failed. `node_error`: its node reported an error of
 * the call. The others: the provider refused the call, and why.
 */
const kinds = ['unsent', 'reset', 'timeout', 'failed', 'node_error', ...refusalKinds] as const
export type UpstreamError = (typeof kinds)[number]

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const CATALOG_TIMEOUT_MS = 500

type EndpointSeries = { answered: HistogramSeries; errors: Record<UpstreamError, CounterSeries> }

/** An endpoint is named by its provider, never by its URL, which can have a key in it. */
export function createUpstreamMetrics(metrics: Metrics) {
  const duration = metrics.histogram({
    name: 'tollgate_upstream_duration_seconds',
    help: 'Time from a call to the answer of an upstream, with any status; of a long answer, to its first part',
    labelNames: ['chain', 'provider'],
    buckets: SECONDS,
  })
  const errors = metrics.counter({
    name: 'tollgate_upstream_errors_total',
    help: 'Attempts at an upstream that did not serve the call, by kind',
    labelNames: ['chain', 'provider', 'kind'],
  })
  /** By endpoint of the catalog as it was read, which is read again each second. */
  const known = new WeakMap<Endpoint, EndpointSeries>()

  function seriesOf(endpoint: Endpoint): EndpointSeries {
    const existing = known.get(endpoint)
    if (existing) return existing
    const { chain, provider } = endpoint
    const created = {
      answered: duration.series({ chain, provider }),
      errors: Object.fromEntries(
        kinds.map((kind) => [kind, errors.series({ chain, provider, kind })]),
      ) as EndpointSeries['errors'],
    }
    known.set(endpoint, created)
    return created
  }

  return {
    answered: (endpoint: Endpoint, seconds: number) => seriesOf(endpoint).answered.observe(seconds),
    failed: (endpoint: Endpoint, kind: UpstreamError) => seriesOf(endpoint).errors[kind].inc(),
  }
}

const stateValues: Record<CircuitState, number> = { closed: 0, half_open: 1, open: 2 }

/** Of the providers of the catalog; of the latest known while it cannot be read. */
export function exportCircuits(parts: {
  metrics: Metrics
  catalog: Pick<Catalog, 'getProviders'>
  circuitState: (baseUrl: string) => CircuitState
}) {
  const { metrics, catalog, circuitState } = parts
  let latest: readonly Provider[] = []
  const readProviders = () =>
    withTimeout(
      catalog.getProviders().catch(() => latest),
      CATALOG_TIMEOUT_MS,
      () => latest,
    )
  metrics.gauge({
    name: 'tollgate_upstream_circuit_state',
    help: 'Circuit breaker of an endpoint of a provider: 0 closed, 1 half open, 2 open',
    labelNames: ['chain', 'provider', 'endpoint'],
    async collect() {
      latest = await readProviders()
      this.reset()
      for (const provider of latest)
        for (const transport of ['rpc', 'rest'] as const)
          for (const [index, endpoint] of endpointsOf(provider, transport).entries()) {
            const labels = { chain: endpoint.chain, provider: endpoint.provider }
            this.set(
              { ...labels, endpoint: `${transport}-${index}` },
              stateValues[circuitState(endpoint.baseUrl)],
            )
          }
    },
  })
}
