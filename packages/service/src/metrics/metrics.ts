import http from 'node:http'
import { Gauge, Registry, collectDefaultMetrics, type Metric } from 'prom-client'
import { type CompletedRequest } from '../http/request-context'
import { closeServer, listen, type ListenAddress } from '../http/server'
import { exposeMetrics } from './exposition'
import { createCounter, createHistogram, type MetricOptions, type ReadableMetric } from './series'

export type Metrics = ReturnType<typeof createMetrics>

/** `traceId`: of the current trace, if it is sampled. It becomes the exemplar of an observation. */
export function createMetrics({ traceId = () => undefined }: { traceId?: () => string | undefined } = {}) {
  const register = new Registry()
  collectDefaultMetrics({ register })

  function registered<M extends { metric: ReadableMetric }>(created: M): M {
    register.registerMetric(created.metric as unknown as Metric)
    return created
  }
  const counter = <L extends string = never>(options: MetricOptions<L>) => registered(createCounter(options))
  const histogram = <L extends string = never>(options: MetricOptions<L> & { buckets?: readonly number[] }) =>
    registered(createHistogram(options, traceId))
  const gauge = <L extends string = never>(
    options: MetricOptions<L> & { collect?: (this: Gauge<L>) => void | Promise<void> },
  ) => new Gauge<L>({ ...options, registers: [register] })

  const requests = histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer, by route pattern',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  })
  let inFlight = 0
  gauge({
    name: 'tollgate_http_requests_in_flight',
    help: 'Requests that have arrived and are not completely answered',
    collect() {
      this.set(inFlight)
    },
  })

  return {
    register,
    counter,
    gauge,
    histogram,

    start: () => void inFlight++,
    /** Of a request that was started. */
    observe({ method, route, status, seconds }: CompletedRequest) {
      inFlight--
      requests.observe({ method, route, status: String(status) }, seconds)
    },

    /** Serves `GET /metrics` on a separate port, which must not be public. */
    async listen(at: ListenAddress) {
      const server = http.createServer((req, res) => {
        void respond(req, res)
      })
      async function respond(req: http.IncomingMessage, res: http.ServerResponse) {
        if (req.method !== 'GET' || req.url !== '/metrics') {
          res.writeHead(404).end()
          return
        }
        try {
          const { contentType, text } = await exposeMetrics(register, req.headers.accept)
          res.writeHead(200, { 'content-type': contentType }).end(text)
        } catch {
          res.writeHead(500).end()
        }
      }
      const { port } = await listen(server, at)
      return { port, close: () => closeServer(server, { graceSeconds: 1 }) }
    },
  }
}
