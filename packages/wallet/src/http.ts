import * as v from 'valibot'
import { TollgateError, type ErrorCode } from './errors.js'

export type Http = ReturnType<typeof createHttp>

export type Send = {
  method?: string
  headers?: Record<string, string>
  body?: NonNullable<RequestInit['body']>
  redirect?: NonNullable<RequestInit['redirect']>
  signal?: AbortSignal | undefined
}

/**
 * Requests that end: by their answer, after `timeoutMs`, by the caller's signal, or by `closed`.
 *
 * @throws TollgateError ABORTED, CLOSED, TIMEOUT, UNREACHABLE
 */
export function createHttp({ timeoutMs, closed }: { timeoutMs: number; closed: AbortSignal }) {
  return async (url: string, { signal, ...init }: Send = {}): Promise<Response> => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signals = [timeout, closed, ...(signal ? [signal] : [])]
    try {
      return await fetch(url, { redirect: 'error', ...init, signal: AbortSignal.any(signals) })
    } catch (cause) {
      throw failure(url, { closed, signal, timeout }, cause)
    }
  }
}

type Causes = { closed: AbortSignal; signal?: AbortSignal | undefined; timeout?: AbortSignal }

function failure(url: string, { closed, signal, timeout }: Causes, cause: unknown): TollgateError {
  const { origin } = new URL(url)
  if (closed.aborted) return new TollgateError('CLOSED', 'The client was closed during a request', { cause })
  if (signal?.aborted) return new TollgateError('ABORTED', 'The call was stopped by its signal', { cause })
  if (timeout?.aborted) return new TollgateError('TIMEOUT', `${origin} did not answer in time`, { cause })
  return new TollgateError('UNREACHABLE', `${origin} could not be reached`, { cause })
}

/** The body as JSON; undefined if it is not JSON, or longer than `maxBytes`. @throws TollgateError as the request would */
export async function readJson(answer: Response, maxBytes = Number.POSITIVE_INFINITY): Promise<unknown> {
  const text = await readText(answer, maxBytes).catch((cause: unknown) => {
    throw new TollgateError('UNREACHABLE', 'The connection ended during an answer', { cause })
  })
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

/** Undefined if it is longer. Bytes are counted after decompression. */
async function readText(answer: Response, maxBytes: number): Promise<string | undefined> {
  if (maxBytes === Number.POSITIVE_INFINITY || !answer.body) return answer.text()
  const reader = answer.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let size = 0; ;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.length
    if (size > maxBytes) {
      // Of an answer that was cloned, this resolves only when the clone is cancelled too.
      void reader.cancel().catch(() => undefined)
      return undefined
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** @throws TollgateError GATEWAY_ERROR for an answer of another shape */
export function parseAnswer<Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, body)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  const place = v.getDotPath(issue) ?? 'the body'
  throw new TollgateError(
    'GATEWAY_ERROR',
    `The answer is none that this version knows (${place}: ${issue.message}); is this the URL of a Tollgate gateway?`,
  )
}

/** Resolves after `ms`, or rejects when a signal does. */
export function pause(ms: number, signals: AbortSignal[]): Promise<void> {
  const signal = AbortSignal.any(signals)
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(new TollgateError('ABORTED', 'The wait was stopped'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** For one waiter. Node warns of a leak where more than ten listen to the same signal. */
export const ownSignal = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal])

/** The result of work that goes on for others when this caller stops waiting. */
export function whileWanted<T>(work: Promise<T>, wanted: AbortSignal | undefined): Promise<T> {
  if (!wanted) return work
  const signal = ownSignal(wanted)
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(new TollgateError('ABORTED', 'The call was stopped by its signal'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

const lost = new Set<ErrorCode>(['TIMEOUT', 'UNREACHABLE'])

/** Whether a request may have arrived although no answer came. */
export const isLost = (error: unknown): boolean => error instanceof TollgateError && lost.has(error.code)
