import { Readable } from 'node:stream'
import { type Dispatcher } from 'undici'

const STREAM_BUFFER_BYTES = 65_536

/** As multiples of the timeout: the maximum duration of a stream, and of a pause of its reader. */
const MAX_STREAM_TIMEOUTS = 20
const MAX_PAUSE_TIMEOUTS = 4

/** Streams `begun` and the rest of the body at the reader's pace, with idle and total timeouts. */
export function streamOf(
  connection: Dispatcher.DispatchController,
  timeoutMs: number,
  begun: readonly Buffer[],
): Readable {
  const startedAt = performance.now()
  let lastProgressAt = startedAt
  const watchdog = setInterval(() => {
    const now = performance.now()
    const idleLimitMs = connection.paused ? MAX_PAUSE_TIMEOUTS * timeoutMs : timeoutMs
    if (now - lastProgressAt > idleLimitMs) stream.destroy(new Error('Answer stalled'))
    else if (now - startedAt > MAX_STREAM_TIMEOUTS * timeoutMs)
      stream.destroy(new Error('Answer exceeded its time limit'))
  }, timeoutMs / 4)

  const stream = new Readable({
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
  stream.on('error', () => undefined)
  for (const chunk of begun) stream.push(chunk)
  connection.pause()
  return stream
}

export const NO_BYTES = Buffer.alloc(0)

/** Keeps the chunks as they came: to copy them into larger and larger buffers costs more than all else for a long answer. */
export function createBodyBuffer() {
  const chunks: Buffer[] = []
  let length = 0
  return {
    chunks,
    length: () => length,
    add(chunk: Buffer) {
      chunks.push(chunk)
      length += chunk.length
    },
    content: (): Buffer => (chunks.length > 1 ? Buffer.concat(chunks, length) : (chunks[0] ?? NO_BYTES)),
  }
}
