import { createMetrics } from './metrics'
import { serve, stopServing } from './testing/serve'

afterEach(stopServing)

test('serves process, HTTP and application metrics on a separate port', async () => {
  const metrics = createMetrics()
  const { port, close } = await metrics.listen({ port: 0, host: '127.0.0.1' })
  const { url } = await serve({
    routes(app) {
      app.get('/calls/:id', (_req, res) => void res.json('served'))
    },
    onCompleted: metrics.observe,
  })
  const settled = metrics.counter({ name: 'settlements_total', help: 'Settlements', labelNames: ['outcome'] })
  settled.inc({ outcome: 'success' })
  metrics.gauge({
    name: 'queue_length',
    help: 'Calls that wait',
    collect() {
      this.set(7)
    },
  })
  metrics.histogram({ name: 'flush_calls', help: 'Calls in a flush', buckets: [1, 10] }).observe(5)
  await (await fetch(`${url}/calls/1`)).text()
  await (await fetch(`${url}/calls/2`)).text()

  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await response.text()
  expect(response.headers.get('content-type')).toContain('text/plain')
  expect(text).toContain(
    'http_request_duration_seconds_count{method="GET",route="/calls/:id",status="200"} 2',
  )
  expect(text).toContain('settlements_total{outcome="success"} 1')
  expect(text).toContain('queue_length 7')
  expect(text).toContain('flush_calls_bucket{le="10"} 1')
  expect(text).toContain('process_cpu_seconds_total')

  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(404)
  await close()
})
