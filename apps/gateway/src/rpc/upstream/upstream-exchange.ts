import { Readable } from 'node:stream'
import { type Dispatcher } from 'undici'
import { type Slot } from './connection-limiter'

/** A complete answer or, above MAX_BUFFERED_BYTES, its beginning and the stream of the rest. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  body: Buffer
  rest?: Readable
}
type AnswerHeaders = Record<string, string | string[] | undefined>

/** `unsent`: provably nothing was sent. `reset`: the connection broke before a complete answer. `abandoned`: the caller disconnected. */
export type UpstreamExchange =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'unsent' | 'reset' | 'timeout' }
  | { outcome: 'abandoned'; wasSent: boolean }

/** A longer answer is streamed. */
const MAX_BUFFERED_BYTES = 262_144
const STREAM_BUFFER_BYTES = 65_536

/** As multiples of the timeout: the maximum duration of a stream, and of a pause of its reader. */
const MAX_STREAM_TIMEOUTS = 20
const MAX_PAUSE_TIMEOUTS = 4

/**
 * Sends one request to one upstream. The buffered part of its answer must arrive within `responseTimeoutMs`; a stream must make
 * progress within `timeoutMs`. Aborting `caller` ends the request, or removes it from the queue.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  {
    timeoutMs,
    responseTimeoutMs = timeoutMs,
    caller,
    slot,
  }: { timeoutMs: number; responseTimeoutMs?: number; caller: AbortSignal; slot: Slot },
): Promise<UpstreamExchange> {
  return new Promise((resolve) => {
    /** Set before the first byte of the request can be written. */
    let connection: Dispatcher.DispatchController | undefined
    let isSettled = false
    let status = 0
    let headers: AnswerHeaders = {}
    const buffered = createBodyBuffer()
    let rest: Readable | undefined

    const settle = (result: UpstreamExchange) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      caller.removeEventListener('abort', onCallerAbort)
      resolve(result)
    }
    /** From here on the dispatcher's callbacks release the slot. */
    let isDispatched = false
    const abortWith = (result: UpstreamExchange) => {
      settle(result)
      if (!isDispatched) slot.release()
      connection?.abort(new Error('Request aborted'))
    }
    const onCallerAbort = () => abortWith({ outcome: 'abandoned', wasSent: connection !== undefined })
    const timer = setTimeout(
      () => abortWith({ outcome: connection ? 'timeout' : 'unsent' }),
      responseTimeoutMs,
    )
    caller.addEventListener('abort', onCallerAbort)
    if (caller.aborted) {
      onCallerAbort()
      return
    }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // Throwing keeps the connection open for the requests that wait for one; aborting would close it.
        if (isSettled) throw new Error('Request aborted before it was sent')
        connection = controller
      },
      onResponseStart(_controller, statusCode, received) {
        // The last counts: an interim response (103) may come first.
        status = statusCode
        headers = received
      },
      onResponseData(controller, chunk) {
        if (rest) {
          if (!rest.push(chunk)) controller.pause()
          return
        }
        buffered.add(chunk)
        if (buffered.length() <= MAX_BUFFERED_BYTES) return
        rest = streamOf(controller, timeoutMs)
        settle({ outcome: 'answered', answer: { status, headers, body: buffered.content(), rest } })
      },
      onResponseEnd() {
        slot.release()
        if (rest) rest.push(null)
        else settle({ outcome: 'answered', answer: { status, headers, body: buffered.content() } })
      },
      onResponseError(_controller, error) {
        slot.release()
        if (rest) rest.destroy(error)
        else settle({ outcome: connection ? 'reset' : 'unsent' })
      },
    }
    slot.acquire(() => {
      isDispatched = true
      dispatcher.dispatch(request, handler)
    })
  })
}

/** Streams the rest of the body at the reader's pace, with idle and total timeouts. */
function streamOf(connection: Dispatcher.DispatchController, timeoutMs: number): Readable {
  const startedAt = performance.now()
  let lastProgressAt = startedAt
  const watchdog = setInterval(() => {
    const now = performance.now()
    const idleLimitMs = connection.paused ? MAX_PAUSE_TIMEOUTS * timeoutMs : timeoutMs
    if (now - lastProgressAt > idleLimitMs) rest.destroy(new Error('Answer stalled'))
    else if (now - startedAt > MAX_STREAM_TIMEOUTS * timeoutMs)
      rest.destroy(new Error('Answer exceeded its time limit'))
  }, timeoutMs / 4)

  const rest = new Readable({
    highWaterMark: STREAM_BUFFER_BYTES,
    read() {
      lastProgressAt = performance.now()
      connection.resume()
    },
    destroy(error, done) {
      clearInterval(watchdog)
      connection.abort(error ?? new Error('Answer no longer read'))
      done(error)
    },
  })
  // It may fail before it has a reader, who sees the error then.
  rest.on('error', () => undefined)
  return rest
}

const EMPTY = Buffer.alloc(0)

function createBodyBuffer() {
  let bytes: Buffer = EMPTY
  let length = 0
  return {
    length: () => length,
    add(chunk: Buffer) {
      if (length === 0) bytes = chunk
      else {
        if (length + chunk.length > bytes.length) {
          const larger = Buffer.allocUnsafe(Math.max(length + chunk.length, 2 * bytes.length))
          bytes.copy(larger, 0, 0, length)
          bytes = larger
        }
        chunk.copy(bytes, length)
      }
      length += chunk.length
    },
    content: () => bytes.subarray(0, length),
  }
}
