import { Readable } from 'node:stream'
import { type Dispatcher } from 'undici'

const STREAM_BUFFER_BYTES = 65_536

/** As multiples of the timeout: the maximum duration of a stream, and of a pause of its reader. */
const MAX_STREAM_TIMEOUTS = 20
const MAX_PAUSE_TIMEOUTS = 4

/** Streams the rest of the body at the reader's pace, with idle and total timeouts. */
export function streamOf(connection: Dispatcher.DispatchController, timeoutMs: number): Readable {
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

export function createBodyBuffer() {
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
