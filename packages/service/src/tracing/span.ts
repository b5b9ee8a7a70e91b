export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export type SpanOptions = {
  kind?: 'server' | 'client' | 'internal'
  attributes?: SpanAttributes
  links?: readonly Span[]
  startedAt?: Date
}

/**
 * A step of a sampled trace. A step of any other trace is `undefined`, so that it costs nothing. Attributes are chosen one by one:
 * no headers, bodies, URLs, signatures or texts of others.
 */
export type Span = {
  readonly traceId: string
  /** Names this span as a parent, in another process. */
  readonly traceparent: string
  child(name: string, options?: SpanOptions): Span
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** `type`: an error, or a code of ours. */
  fail(type: unknown): void
  end(): void
}

/** Runs a step as a child of `parent`; just runs it if there is none. */
export function traced<T>(
  parent: Span | undefined,
  name: string,
  options: SpanOptions,
  run: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  return parent ? runTraced(parent.child(name, options), run) : run(undefined)
}

async function runTraced<T>(span: Span, run: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await run(span)
  } catch (error) {
    span.fail(error)
    throw error
  } finally {
    span.end()
  }
}

/**
 * The active span is for metrics and log lines, which cannot be given one. There is none across an `await`: while AsyncLocalStorage
 * is in use, Node 20 calls a hook for every promise of the process.
 */
let current: Span | undefined

/** Calls a synchronous function with `span` as the active one. */
export function callWithActiveSpan<T>(span: Span | undefined, call: () => T): T {
  if (!span) return call()
  const before = current
  current = span
  try {
    return call()
  } finally {
    current = before
  }
}

/** Of the sampled trace that the running code is a step of; for exemplars. */
export const activeTraceId = (): string | undefined => current?.traceId
