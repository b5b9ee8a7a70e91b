import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
  type Span as OtelSpan,
  type Tracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import { hostname } from 'node:os'
import { ApiError } from '../errors'
import { type Logger } from '../logger'
import { type Span, type SpanAttributes, type SpanOptions } from './span'
import { formatTraceparent, type TraceParent } from './traceparent'
import { type TracingSettings } from './variables'

/** Spans above it are dropped: a collector that is away must not fill the memory. */
const MAX_QUEUED = 2_048
const MAX_BATCH = 512
const EXPORT_INTERVAL_MS = 1_000
const MAX_LINKS = 32
const MAX_TEXT = 256
const REPORT_INTERVAL_MS = 60_000

/** Loads the SDK of OpenTelemetry, which exports spans in the background. */
export function openExporter({ url, headers, timeoutMs, attributes }: TracingSettings, logger: Logger) {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.instance.id': hostname(), ...attributes }),
    spanLimits: { attributeValueLengthLimit: MAX_TEXT, attributeCountLimit: 32, linkCountLimit: MAX_LINKS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportingFailures(
          new OTLPTraceExporter({ url, headers, timeoutMillis: timeoutMs }),
          logger,
        ),
        maxQueueSize: MAX_QUEUED,
        maxExportBatchSize: MAX_BATCH,
        scheduledDelayMillis: EXPORT_INTERVAL_MS,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  })
  const tracer = provider.getTracer('tollgate')
  return {
    root: (name: string, options: SpanOptions): Span => startSpan(tracer, ROOT_CONTEXT, name, options),
    /** A span of another process. */
    remote: ({ traceId, spanId }: TraceParent, state?: string): Span =>
      new ExportedSpan(
        tracer,
        trace.wrapSpanContext({
          traceId,
          spanId,
          traceFlags: TraceFlags.SAMPLED,
          isRemote: true,
          ...(state === undefined ? {} : { traceState: createTraceState(state) }),
        }),
      ),
    /** A failure is in the log already. */
    close: () => provider.shutdown().catch(() => undefined),
  }
}

class ExportedSpan implements Span {
  private readonly context: SpanContext

  constructor(
    private readonly tracer: Tracer,
    private readonly span: OtelSpan,
  ) {
    this.context = span.spanContext()
  }

  get traceId(): string {
    return this.context.traceId
  }

  get traceparent(): string {
    const { traceId, spanId } = this.context
    return formatTraceparent({ traceId, spanId, isSampled: true })
  }

  child(name: string, options: SpanOptions = {}): Span {
    return startSpan(this.tracer, trace.setSpan(ROOT_CONTEXT, this.span), name, options)
  }

  rename(name: string) {
    this.span.updateName(name)
  }

  set(attributes: SpanAttributes) {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.span.setAttribute(name, value)
  }

  fail(type: unknown) {
    this.span.setStatus({ code: SpanStatusCode.ERROR })
    this.span.setAttribute('error.type', typeOf(type))
  }

  end() {
    this.span.end()
  }

  static contextOf(span: Span): SpanContext[] {
    return span instanceof ExportedSpan ? [span.context] : []
  }
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

function startSpan(
  tracer: Tracer,
  parent: Context,
  name: string,
  { kind = 'internal', attributes = {}, links = [], startedAt }: SpanOptions,
): Span {
  const options = {
    kind: KINDS[kind],
    links: links
      .slice(0, MAX_LINKS)
      .flatMap((link) => ExportedSpan.contextOf(link))
      .map((context) => ({ context })),
    ...(startedAt === undefined ? {} : { startTime: startedAt }),
  }
  const span = new ExportedSpan(tracer, tracer.startSpan(name, options, parent))
  span.set(attributes)
  return span
}

/** Never the message of an error: it may quote what a client or a node sent. */
function typeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (error instanceof ApiError) return error.code
  return error instanceof Error ? error.constructor.name : 'Error'
}

function reportingFailures(exporter: SpanExporter, logger: Logger): SpanExporter {
  let reportedAt = -Infinity
  function report(spans: number, error: Error) {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return
    reportedAt = performance.now()
    const { code } = error as { code?: unknown }
    logger.warn('trace export failed', { spans, reason: error.name, code })
  }
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error) report(spans.length, result.error)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  }
}
