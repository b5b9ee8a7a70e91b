import { Agent } from 'undici'
import { createCircuits } from './circuits'
import { createTurns } from './turns'

/** To one origin; and how many of them one wallet may keep busy, so that it cannot close an upstream to all others. */
const CONNECTIONS = 128
const CONNECTIONS_EACH = 64

/** Shorter than any server in use keeps an idle connection (Node 5 s, CometBFT 10 s, nginx 75 s), so that a call seldom meets one that is being closed. */
const IDLE_CONNECTION_MS = 4_000
/** For those that say how long they keep one: what is taken off, for their word travels, and what is believed at most. */
const KEEP_ALIVE_MARGIN_MS = 2_000
const MAX_IDLE_CONNECTION_MS = 30_000

export type Upstreams = ReturnType<typeof createUpstreams>

/** Connections to upstreams, and what is known of how each of them fares. */
export function createUpstreams({ timeoutMs, now }: { timeoutMs: number; now: () => Date }) {
  const dispatcher = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    connect: { timeout: Math.min(timeoutMs, 5_000) },
    // Who asks keeps the time, from the first moment to the last (see exchange).
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 32_768,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    keepAliveMaxTimeout: MAX_IDLE_CONNECTION_MS,
  })
  const turnAt = createTurns({ max: CONNECTIONS, maxEach: CONNECTIONS_EACH })
  return { dispatcher, turnAt, ...createCircuits(now), close: () => dispatcher.destroy() }
}
