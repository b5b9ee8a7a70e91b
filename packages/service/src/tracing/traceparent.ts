/** The W3C `traceparent`: which trace a request or a stored payment belongs to, and the span that is its parent there. */
export type TraceParent = { traceId: string; spanId: string; isSampled: boolean }

/** A later version of the format may have more members after these; version 00 may not. */
const format = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
const MAX_LENGTH = 256
const VERSION_00_LENGTH = 55

/** Undefined if there is none, or if it is malformed, which counts as none. */
export function parseTraceparent(header: unknown): TraceParent | undefined {
  if (typeof header !== 'string' || header.length > MAX_LENGTH) return undefined
  const [, version, traceId, spanId, flags] = format.exec(header) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === '00' && header.length !== VERSION_00_LENGTH) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** Of a stored `traceparent`, for log lines. Only sampled traces are stored. */
export const traceIdOf = (traceparent: string | null | undefined): string | undefined =>
  parseTraceparent(traceparent)?.traceId
