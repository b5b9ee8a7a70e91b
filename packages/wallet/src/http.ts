import * as v from 'valibot'
import { isTollgateError, TollgateError, type ErrorCode } from './errors.js'
import { assertNotStopped, untilStopped, type Stops } from './stops.js'

export type Http = ReturnType<typeof createHttp>

export type Send = Omit<RequestInit, 'signal' | 'headers' | 'body'> & {
  headers?: Record<string, string>
  body?: NonNullable<RequestInit['body']>
  signal?: AbortSignal | undefined
}

/** More than any node answers; a body without an end is given up. */
const MAX_JSON_BYTES = 128 * 1024 * 1024

/** Requests that end: by their answer, after `timeoutMs`, by the caller's signal, or by `closed`. */
export function createHttp({ timeoutMs, closed }: { timeoutMs: number; closed: AbortSignal }) {
  async function inTime<T>(signal: AbortSignal | undefined, task: (stops: Required<Stops>) => Promise<T>) {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), timeoutMs)
    try {
      return await task({ closed, signal, timeout: timeout.signal })
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    /**
     * Resolves with the headers of the answer: they must arrive in time, its body may take longer. A redirect is refused, unless
     * `redirect` says otherwise.
     *
     * @throws TollgateError ABORTED, CLOSED, TIMEOUT, UNREACHABLE
     */
    send(url: string, { signal, redirect = 'error', ...init }: Send = {}): Promise<Response> {
      const { origin } = new URL(url)
      return inTime(signal, async (stops) => {
        // The body, which anyone may read, follows the caller's signal and `closed`, too.
        const all = AbortSignal.any([stops.timeout, closed, ...(signal ? [signal] : [])])
        // Cloudflare Workers have no `error`.
        const mode = redirect === 'error' ? 'manual' : redirect
        try {
          const answer = await untilStopped(() => fetch(url, { ...init, redirect: mode, signal: all }), stops)
          if (redirect === 'error' && isRedirect(answer)) throw redirected(origin, answer)
          return answer
        } catch (cause) {
          throw failureOf(cause, stops, `${origin} could not be reached`)
        }
      })
    },

    /**
     * The body as JSON; undefined if it is not JSON, or longer than `maxBytes`.
     *
     * @throws TollgateError ABORTED, CLOSED, TIMEOUT, UNREACHABLE
     */
    readJson(answer: Response, { signal, maxBytes = MAX_JSON_BYTES }: ReadOptions = {}): Promise<unknown> {
      return inTime(signal, async (stops) => {
        try {
          const text = await readText(answer, maxBytes, stops)
          return text === undefined ? undefined : parseJson(text)
        } catch (cause) {
          throw failureOf(cause, stops, 'The connection ended during an answer')
        }
      })
    },
  }
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/** A browser hides the status. */
const isRedirect = ({ type, status }: Response) => type === 'opaqueredirect' || REDIRECTS.includes(status)

function redirected(origin: string, { body }: Response): TollgateError {
  void body?.cancel().catch(() => undefined)
  return new TollgateError(
    'UNREACHABLE',
    `${origin} redirects to another address, which is not followed: give the URL without a redirect`,
  )
}

type ReadOptions = { signal?: AbortSignal | undefined; maxBytes?: number }

function failureOf(cause: unknown, stops: Stops, message: string): TollgateError {
  if (isTollgateError(cause)) return cause
  try {
    assertNotStopped(stops)
  } catch (stopped) {
    return stopped as TollgateError
  }
  return new TollgateError('UNREACHABLE', message, { cause })
}

/** Undefined if it is longer; bytes are counted after decompression. Node 20 may forget an answer's signal, so each read has it. */
async function readText(answer: Response, maxBytes: number, stops: Stops): Promise<string | undefined> {
  if (!answer.body) return ''
  const reader = answer.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let size = 0; ;) {
      const { done, value } = await untilStopped(() => reader.read(), stops)
      if (done) return text + decoder.decode()
      size += value.length
      if (size > maxBytes) return undefined
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    // Of an answer that was cloned, this resolves only when the clone is cancelled too.
    void reader.cancel().catch(() => undefined)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
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

const lost = new Set<ErrorCode>(['TIMEOUT', 'UNREACHABLE'])

/** Whether a request may have arrived although no answer came. */
export const isLost = (error: unknown): boolean => error instanceof TollgateError && lost.has(error.code)
