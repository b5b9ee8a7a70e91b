import { Registry, type Metric, type OpenMetricsContentType } from 'prom-client'
import { type ReadableMetric } from './series'

const OPEN_METRICS = /application\/openmetrics-text/i

/** In the format that the scraper accepts; only OpenMetrics has exemplars. The names of the series are the same in both. */
export async function exposeMetrics(register: Registry, accept: string | undefined) {
  if (!OPEN_METRICS.test(accept ?? ''))
    return { contentType: register.contentType, text: await register.metrics() }
  const openMetrics = new Registry<OpenMetricsContentType>()
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const metric of register.getMetricsAsArray() as unknown as ReadableMetric[])
    openMetrics.registerMetric(forOpenMetrics(metric) as unknown as Metric)
  return { contentType: openMetrics.contentType, text: await openMetrics.metrics() }
}

/** A counter is named without `_total` there. The registry adds it to the series, and would rename the metric itself. */
function forOpenMetrics(metric: ReadableMetric): ReadableMetric {
  if (metric.type !== 'counter') return metric
  const name = metric.name.replace(/_total$/, '')
  return { ...metric, name, get: async () => ({ ...(await metric.get()), name }) }
}
