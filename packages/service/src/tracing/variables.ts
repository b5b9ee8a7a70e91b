import { z } from 'zod'
import { env } from '../config'

/** Keys and values as in W3C Baggage, values percent-encoded. */
const pairs = (wanted: string) =>
  z
    .string({ error: wanted })
    .transform((text) => text.split(',').map((pair) => pair.trim().split(/=(.*)/s, 2)))
    .refine(
      (list) => list.every(([name = '', value]) => /^[\w.*!#$%&'+^`|~-]+$/.test(name) && isEncoded(value)),
      wanted,
    )
    .transform((list) =>
      Object.fromEntries(list.map(([name = '', value = '']) => [name, decodeURIComponent(value)])),
    )

function isEncoded(value: string | undefined): boolean {
  try {
    return value !== undefined && /^[\x20-\x7e]*$/.test(decodeURIComponent(value))
  } catch {
    return false
  }
}

const ratio = z
  .string()
  .regex(/^(0|1|0?\.\d{1,9}|[01]\.0{1,9})$/, 'expected a ratio from 0 to 1, such as 0.01')
  .transform(Number)

const headers = pairs('expected name=value pairs, separated by commas, with percent-encoded values')
const timeoutMs = env.count.refine((ms) => ms >= 1 && ms <= 60_000, 'expected milliseconds, 1 to 60000')
const protocol = z.enum(['http/json'], {
  error: 'expected http/json, the one protocol that is supported; collectors take it on port 4318',
})

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** The variables of OpenTelemetry that both services know, and one of ours. */
export const tracingVariables = {
  OTEL_SDK_DISABLED: env.flag.optional().describe('`true` turns traces off.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: env.url
    .optional()
    .describe(
      'A collector that takes OTLP/HTTP in JSON, such as `https://collector:4318`; `/v1/traces` is added. Without it there are [no traces](../tracing.md).',
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: env.url.optional().describe('The whole URL instead.'),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional().describe('Headers for the collector, such as its API key.'),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers.optional().describe('The same, for traces.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional().describe('`http/json` is the only protocol.'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional().describe('The same, for traces.'),
  OTEL_EXPORTER_OTLP_TIMEOUT: timeoutMs.optional().describe('Milliseconds for one export; 10000 if not set.'),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeoutMs.optional().describe('The same, for traces.'),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, { error: `expected one of ${SAMPLERS.join(', ')}` })
    .optional()
    .describe('`parentbased_traceidratio` if not set.'),
  OTEL_TRACES_SAMPLER_ARG: ratio.optional().describe('The ratio of traces that begin here; 0.01 if not set.'),
  OTEL_SERVICE_NAME: env.text.optional().describe('`tollgate-gateway` or `tollgate-facilitator` if not set.'),
  OTEL_RESOURCE_ATTRIBUTES: pairs('expected key=value pairs, separated by commas')
    .optional()
    .describe('Attributes of every span.'),
  /** Traces that the callers of one process can have sampled, by `traceparent`. */
  TRACES_FORCED_PER_MINUTE: env.count
    .default(60)
    .describe('Traces that callers of one process may have sampled by a `traceparent`; 0 for none.'),
}

/** They get OTEL_EXPORTER_OTLP_HEADERS, which can hold an API key. */
export const collectorVariables = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
] as const

const Variables = z.object(tracingVariables)
export type TracingEnvironment = z.infer<typeof Variables>

export type TracingSettings = {
  url: string
  headers: Record<string, string>
  timeoutMs: number
  attributes: Record<string, string>
  /** Of the traces that begin here. */
  ratio: number
  followsParent: boolean
  forcedPerMinute: number
}

const DEFAULT_RATIO = 0.01
const DEFAULT_TIMEOUT_MS = 10_000

/** Undefined if tracing is off: without an endpoint. */
export function tracingSettings(
  environment: TracingEnvironment,
  service: string,
): TracingSettings | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ownUrl, OTEL_EXPORTER_OTLP_ENDPOINT: baseUrl } = environment
  const url = ownUrl ?? (baseUrl === undefined ? undefined : `${baseUrl}/v1/traces`)
  if (url === undefined || environment.OTEL_SDK_DISABLED === true) return undefined
  const sampler = environment.OTEL_TRACES_SAMPLER ?? 'parentbased_traceidratio'
  const ratioOf = {
    always_on: 1,
    always_off: 0,
    traceidratio: environment.OTEL_TRACES_SAMPLER_ARG ?? DEFAULT_RATIO,
  }
  return {
    url,
    headers: { ...environment.OTEL_EXPORTER_OTLP_HEADERS, ...environment.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    timeoutMs:
      environment.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ??
      environment.OTEL_EXPORTER_OTLP_TIMEOUT ??
      DEFAULT_TIMEOUT_MS,
    attributes: {
      'service.name': `tollgate-${service}`,
      ...environment.OTEL_RESOURCE_ATTRIBUTES,
      ...(environment.OTEL_SERVICE_NAME === undefined
        ? {}
        : { 'service.name': environment.OTEL_SERVICE_NAME }),
    },
    ratio: ratioOf[sampler.replace('parentbased_', '') as keyof typeof ratioOf],
    followsParent: sampler.startsWith('parentbased_'),
    forcedPerMinute: environment.TRACES_FORCED_PER_MINUTE,
  }
}
