import { AsyncLocalStorage } from 'node:async_hooks'

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
 * The active span is for code that cannot be given one: calls to nodes, and metrics. While AsyncLocalStorage is in use, Node
 * calls a hook for every promise of the process, so it is enabled only while a sampled step runs.
 */
const storage = new AsyncLocalStorage<Span>()
let runs = 0
let current: Span | undefined

/** Runs with `span` as the active one. */
export function withActiveSpan<T>(span: Span | undefined, run: () => Promise<T>): Promise<T> {
  return span ? runActive(span, run) : run()
}

async function runActive<T>(span: Span, run: () => Promise<T>): Promise<T> {
  runs++
  try {
    return await storage.run(span, run)
  } finally {
    if (--runs === 0) storage.disable()
  }
}

/** For a synchronous function. */
export function callWithActiveSpan(span: Span | undefined, call: () => void): void {
  current = span
  try {
    call()
  } finally {
    current = undefined
  }
}

export const activeSpan = (): Span | undefined => current ?? (runs > 0 ? storage.getStore() : undefined)

/** Of the sampled trace that the running code is a step of; for exemplars. */
export const activeTraceId = (): string | undefined => activeSpan()?.traceId
