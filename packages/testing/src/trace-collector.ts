import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo } from 'node:net'
import { closeLater } from './closing'

type OtlpValue = {
  stringValue?: string
  intValue?: number | string
  doubleValue?: number
  boolValue?: boolean
}
type OtlpSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: OtlpValue }[]
  links?: { traceId: string; spanId: string }[]
  status?: { code?: number }
}
type OtlpRequest = {
  resourceSpans: {
    resource: { attributes: { key: string; value: OtlpValue }[] }
    scopeSpans: { spans: OtlpSpan[] }[]
  }[]
}

export type CollectedSpan = Pick<OtlpSpan, 'traceId' | 'spanId' | 'name'> & {
  service: unknown
  parentId: string | undefined
  durationMs: number
  attributes: Record<string, unknown>
  links: { traceId: string; spanId: string }[]
  isFailed: boolean
}

export type TraceCollector = Awaited<ReturnType<typeof startTraceCollector>>

/** Takes traces by OTLP/HTTP in JSON, as the OpenTelemetry Collector does. */
export async function startTraceCollector() {
  const spans: CollectedSpan[] = []
  const texts: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const arrivals = new EventEmitter().setMaxListeners(0)
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => (text += chunk.toString()))
    req.on('end', () => {
      texts.push(text)
      headers.push(req.headers)
      spans.push(...spansOf(JSON.parse(text) as OtlpRequest))
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      arrivals.emit('spans')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  const ofTrace = (traceId: string) => spans.filter((span) => span.traceId === traceId)

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    /** All that was exported. */
    text: () => texts.join('\n'),
    ofTrace,
    /** Resolves once the trace has these spans; a name that is given twice, twice. */
    async until(traceId: string, ...names: string[]): Promise<CollectedSpan[]> {
      for (;;) {
        const found = ofTrace(traceId)
        if (hasAll(found, names)) return found
        await once(arrivals, 'spans')
      }
    },
  }
}

function hasAll(spans: readonly CollectedSpan[], names: readonly string[]): boolean {
  const missing = spans.reduce((left, { name }) => {
    const index = left.indexOf(name)
    return index < 0 ? left : left.toSpliced(index, 1)
  }, names)
  return missing.length === 0
}

/** The names of a span and of its parents, itself last. */
export function pathOf(spans: readonly CollectedSpan[], span: CollectedSpan): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentId)
  return parent ? [...pathOf(spans, parent), span.name] : [span.name]
}

function spansOf({ resourceSpans }: OtlpRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = attributesOf(resource.attributes)['service.name']
    return scopeSpans.flatMap((scope) => scope.spans).map((span) => collected(span, service))
  })
}

function collected(span: OtlpSpan, service: unknown): CollectedSpan {
  const { traceId, spanId, name, parentSpanId, startTimeUnixNano, endTimeUnixNano, links = [], status } = span
  return {
    service,
    traceId,
    spanId,
    name,
    parentId: parentSpanId,
    durationMs: Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6,
    attributes: attributesOf(span.attributes),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    isFailed: status?.code === 2,
  }
}

const attributesOf = (attributes: readonly { key: string; value: OtlpValue }[]) =>
  Object.fromEntries(attributes.map(({ key, value }): [string, unknown] => [key, Object.values(value)[0]]))
