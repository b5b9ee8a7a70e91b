import { type Metrics } from '@tollgate/service'
import { Agent } from 'undici'
import { createCircuitBreaker } from './circuit-breaker'
import { createConnectionLimiter } from './connection-limiter'
import { createUpstreamMetrics } from './upstream-metrics'

/** Per origin. A wallet may use half of them, so that it cannot block an upstream for others. */
const CONNECTIONS = 128
const CONNECTIONS_PER_WALLET = 64

/** Shorter than the idle timeout of common servers (Node 5 s, CometBFT 10 s, nginx 75 s), so that a call seldom meets a closing connection. */
const IDLE_CONNECTION_MS = 4_000
/** Subtracted from an upstream's Keep-Alive timeout, to allow for latency; and its maximum. */
const KEEP_ALIVE_MARGIN_MS = 2_000
const MAX_IDLE_CONNECTION_MS = 30_000

export type Upstreams = ReturnType<typeof createUpstreams>

export function createUpstreams(parts: { timeoutMs: number; now: () => Date; metrics: Metrics }) {
  const { timeoutMs, now, metrics } = parts
  const dispatcher = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    connect: { timeout: Math.min(timeoutMs, 5_000) },
    // exchange() has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 32_768,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    keepAliveMaxTimeout: MAX_IDLE_CONNECTION_MS,
  })
  const slotAt = createConnectionLimiter({ max: CONNECTIONS, maxPerHolder: CONNECTIONS_PER_WALLET })
  return {
    dispatcher,
    slotAt,
    ...createCircuitBreaker(now),
    metrics: createUpstreamMetrics(metrics),
    close: () => dispatcher.destroy(),
  }
}
