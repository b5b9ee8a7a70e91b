import { type Express } from 'express'
import { type Health } from './http/health'
import { closeServer, createServer, listen } from './http/server'
import { type Logger } from './logger'
import { type Metrics } from './metrics/metrics'
import { type Closing } from './run'

/**
 * Serves the metrics, then the app. When the process stops, `/health` and `/ready` fail at once, and requests in flight get
 * `graceSeconds`; if it cuts any off, it logs a warning.
 *
 * @throws ConfigurationError if a port is unavailable
 */
export async function startServers(
  { app, health, metrics, logger }: { app: Express; health: Health; metrics: Metrics; logger: Logger },
  options: {
    environment: {
      PORT: number
      HOST?: string | undefined
      METRICS_PORT: number
      METRICS_HOST?: string | undefined
    }
    closing: Closing
    graceSeconds: number
    /** Limits all headers of a request together; 16 KiB by default. */
    maxHeaderBytes?: number
    onStopping?: () => unknown
  },
): Promise<{ port: number; metricsPort: number }> {
  const { environment, closing, graceSeconds, onStopping, maxHeaderBytes } = options
  const metricsServer = await metrics.listen({
    port: environment.METRICS_PORT,
    host: environment.METRICS_HOST,
    variable: 'METRICS_PORT',
  })
  closing.add('metrics server', () => metricsServer.close())

  const server = createServer(app, maxHeaderBytes === undefined ? {} : { maxHeaderBytes })
  const { port } = await listen(server, {
    port: environment.PORT,
    host: environment.HOST,
    variable: 'PORT',
  })
  closing.add('server', async () => {
    health.stopping()
    onStopping?.()
    const isClean = await closeServer(server, { graceSeconds })
    if (!isClean) logger.warn('requests cut off', { graceSeconds })
  })
  return { port, metricsPort: metricsServer.port }
}
