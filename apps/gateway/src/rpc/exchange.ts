import { Readable } from 'node:stream'
import { type Dispatcher } from 'undici'
import { type Turn } from './turns'

/** An answer held whole, or, past `MAX_HELD_BYTES`, its beginning and the stream of the rest. */
export type Answer = {
  status: number
  headers: Headers
  body: Buffer
  rest?: Readable
}
export type Headers = Record<string, string | string[] | undefined>

/**
 * What became of one request: it was `answered`; it provably never left (`unsent`); it was cut off before its answer was
 * whole or could be told (`reset`); nothing came in time (`timeout`); or its caller left (`abandoned`), before or after it was sent.
 */
export type Exchange =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'unsent' | 'reset' | 'timeout' }
  | { outcome: 'abandoned'; wasSent: boolean }

/** What is held in memory of an answer before it is passed on as it comes. */
const MAX_HELD_BYTES = 262_144
/** What waits in a stream for its reader. */
const MAX_WAITING_BYTES = 65_536

/** In times of the timeout: how long a stream may last in all, and how long its reader may take nothing of it. */
const MAX_STREAM_TIMEOUTS = 20
const MAX_PAUSE_TIMEOUTS = 4

/**
 * One request to one upstream. All that is held of its answer must be there within `withinMs`; what is streamed must go
 * on coming, as `timeoutMs` measures it, and to an end. Once `caller` is aborted the request is ended, or, where it waits for its turn, never sent and
 * forgotten at once.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  {
    timeoutMs,
    withinMs = timeoutMs,
    caller,
    turn,
  }: { timeoutMs: number; withinMs?: number; caller: AbortSignal; turn: Turn },
): Promise<Exchange> {
  return new Promise((resolve) => {
    /** There from the moment at which the first byte of the request may be written, and not before. */
    let connection: Dispatcher.DispatchController | undefined
    let isSettled = false
    let status = 0
    let headers: Headers = {}
    const held = createHold()
    let rest: Readable | undefined

    const settle = (result: Exchange) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      caller.removeEventListener('abort', abandon)
      resolve(result)
    }
    /** In the hands of the dispatcher, which says when it has let go of it. */
    let isDispatched = false
    const giveUp = (result: Exchange) => {
      settle(result)
      if (!isDispatched) turn.leave()
      connection?.abort(new Error('The request was given up'))
    }
    const abandon = () => giveUp({ outcome: 'abandoned', wasSent: connection !== undefined })
    const timer = setTimeout(() => giveUp({ outcome: connection ? 'timeout' : 'unsent' }), withinMs)
    caller.addEventListener('abort', abandon)
    if (caller.aborted) {
      abandon()
      return
    }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // Thrown and not aborted, so that the connection serves those who still wait for one.
        if (isSettled) throw new Error('The request was given up before it was sent')
        connection = controller
      },
      onResponseStart(_controller, statusCode, received) {
        // Of several, for one may announce another (103), the last counts.
        status = statusCode
        headers = received
      },
      onResponseData(controller, chunk) {
        if (rest) {
          if (!rest.push(chunk)) controller.pause()
          return
        }
        held.add(chunk)
        if (held.length() <= MAX_HELD_BYTES) return
        rest = streamOf(controller, timeoutMs)
        settle({ outcome: 'answered', answer: { status, headers, body: held.taken(), rest } })
      },
      onResponseEnd() {
        turn.leave()
        if (rest) rest.push(null)
        else settle({ outcome: 'answered', answer: { status, headers, body: held.taken() } })
      },
      onResponseError(_controller, error) {
        turn.leave()
        if (rest) rest.destroy(error)
        else settle({ outcome: connection ? 'reset' : 'unsent' })
      },
    }
    turn.enter(() => {
      isDispatched = true
      dispatcher.dispatch(request, handler)
    })
  })
}

/** What comes over the connection from now on, as fast as it is read; it fails where too little moves for too long. */
function streamOf(connection: Dispatcher.DispatchController, timeoutMs: number): Readable {
  const startedAt = performance.now()
  let movedAt = startedAt
  const watch = setInterval(() => {
    const now = performance.now()
    const patience = connection.paused ? MAX_PAUSE_TIMEOUTS * timeoutMs : timeoutMs
    if (now - movedAt > patience) rest.destroy(new Error('The answer stopped coming, or being read'))
    else if (now - startedAt > MAX_STREAM_TIMEOUTS * timeoutMs)
      rest.destroy(new Error('The answer did not come to its end'))
  }, timeoutMs / 4)

  const rest = new Readable({
    highWaterMark: MAX_WAITING_BYTES,
    read() {
      movedAt = performance.now()
      connection.resume()
    },
    destroy(error, done) {
      clearInterval(watch)
      connection.abort(error ?? new Error('Nobody reads the answer any more'))
      done(error)
    },
  })
  // It may fail before anybody reads it; whoever does is told then.
  rest.on('error', () => undefined)
  return rest
}

const NOTHING = Buffer.alloc(0)

/** One piece of memory for all that is held, for an answer may come in a great many small pieces. */
function createHold() {
  let bytes: Buffer = NOTHING
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
    taken: () => bytes.subarray(0, length),
  }
}
