import { withTimeout } from '@tollgate/protocol'
import { randomBytes } from 'node:crypto'
import { type IncomingHttpHeaders } from 'node:http'
import { type Logger } from '../logger'
import { createSampling } from './sampling'
import { type Span } from './span'
import { formatTraceparent, parseTraceparent } from './traceparent'
import { tracingSettings, type TracingEnvironment } from './variables'

export type Tracing = {
  /** The span of a request, if its trace is sampled. */
  accept(headers: IncomingHttpHeaders): Span | undefined
  /** A span that a stored `traceparent` names, as the parent of what continues it. It ends elsewhere. */
  resume(traceparent: string | null | undefined): Span | undefined
  /** For a request to another service of ours: without a span they keep it from beginning a trace. */
  headersOf(span: Span | undefined): Record<string, string>
  /** Exports what is queued, for FLUSH_TIMEOUT_MS at most. */
  close(): Promise<void>
}

export const NO_TRACING: Tracing = {
  accept: () => undefined,
  resume: () => undefined,
  headersOf: () => ({}),
  close: () => Promise.resolve(),
}

const FLUSH_TIMEOUT_MS = 3_000

/** Off, and without a cost, unless the environment has an OTLP endpoint: the SDK is not even loaded. */
export async function openTracing(
  environment: TracingEnvironment,
  { service, logger, random = Math.random }: { service: string; logger: Logger; random?: () => number },
): Promise<Tracing> {
  const settings = tracingSettings(environment, service)
  if (!settings) return NO_TRACING
  const { openExporter } = await import('./exporter.js')
  const exporter = openExporter(settings, logger)
  const isSampled = createSampling(settings, { random, monotonicMs: () => performance.now() })
  let closed: Promise<void> | undefined
  logger.info('tracing enabled', { ratio: settings.ratio, followsParent: settings.followsParent })

  return {
    accept({ traceparent, tracestate }) {
      const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent)
      if (!isSampled(parent)) return undefined
      return parent
        ? exporter.remote(parent, boundedState(tracestate)).child('request', SERVER)
        : exporter.root('request', SERVER)
    },
    resume(traceparent) {
      if (traceparent === null || traceparent === undefined) return undefined
      const parent = parseTraceparent(traceparent)
      return parent?.isSampled ? exporter.remote(parent) : undefined
    },
    headersOf: (span) => ({ traceparent: span?.traceparent ?? unsampled() }),
    close: () => (closed ??= withTimeout(exporter.close(), FLUSH_TIMEOUT_MS, () => undefined)),
  }
}

const SERVER = { kind: 'server' } as const

/** The length that a tracing system must be able to propagate. */
const MAX_STATE = 512

const boundedState = (state: string | string[] | undefined): string | undefined =>
  typeof state === 'string' && state.length <= MAX_STATE ? state : undefined

const unsampled = () =>
  formatTraceparent({
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    isSampled: false,
  })
