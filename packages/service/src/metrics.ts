import http from 'node:http'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { type CompletedRequest } from './http/request-context'
import { closeServer, listen } from './http/server'

export type Metrics = ReturnType<typeof createMetrics>

type MetricOptions<L extends string> = { name: string; help: string; labelNames?: readonly L[] }

export function createMetrics() {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const registers = [register]

  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from a request to the end of its answer, by route pattern',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })

  return {
    register,
    counter: <L extends string = never>(options: MetricOptions<L>) =>
      new Counter<L>({ ...options, registers }),
    gauge: <L extends string = never>(
      options: MetricOptions<L> & { collect?: (this: Gauge<L>) => void | Promise<void> },
    ) => new Gauge<L>({ ...options, registers }),
    histogram: <L extends string = never>(options: MetricOptions<L> & { buckets?: number[] }) =>
      new Histogram<L>({ ...options, registers }),

    observe: ({ method, route, status, seconds }: CompletedRequest) =>
      requests.observe({ method, route, status }, seconds),

    /** Serves `GET /metrics` on a separate port, which must not be public. */
    async listen(at: { port: number; host?: string | undefined }) {
      const server = http.createServer((req, res) => {
        void respond(req, res)
      })
      async function respond(req: http.IncomingMessage, res: http.ServerResponse) {
        if (req.method !== 'GET' || req.url !== '/metrics') {
          res.writeHead(404).end()
          return
        }
        try {
          res.writeHead(200, { 'content-type': register.contentType }).end(await register.metrics())
        } catch {
          res.writeHead(500).end()
        }
      }
      const { port } = await listen(server, at)
      return { port, close: () => closeServer(server, { graceSeconds: 1 }) }
    },
  }
}
