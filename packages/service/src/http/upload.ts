import { type IncomingMessage } from 'node:http'
import { ApiError } from '../errors'

/** The longest pause between two chunks; the server limits the duration of the whole request. */
const STALLED_TIMEOUT_MS = 10_000

export type Upload = { bytes: Promise<Buffer>; stop: (reason: ApiError) => void }

/**
 * Collects the bytes of a body. The buffer of a chunked body grows: `onGrowth` runs before, and an error that it returns stops
 * the upload. Bytes that arrive after the end or a stop are discarded.
 */
export function collect(
  req: IncomingMessage,
  {
    declared,
    limitBytes,
    onGrowth,
  }: { declared: number | undefined; limitBytes: number; onGrowth: (bytes: number) => ApiError | undefined },
): Upload {
  let target: Buffer = Buffer.allocUnsafe(declared ?? 0)
  let length = 0
  let finish: (end: Buffer | ApiError) => void = () => undefined

  const bytes = new Promise<Buffer>((resolve, reject) => {
    const timer = setTimeout(() => finish(stalled()), STALLED_TIMEOUT_MS)
    const onData = (chunk: Buffer) => {
      timer.refresh()
      const needed = length + chunk.length
      if (needed > target.length) {
        const refusal = onGrowth(needed)
        if (refusal) {
          finish(refusal)
          return
        }
        target = enlarge(target, length, Math.max(needed, Math.min(2 * target.length, limitBytes)))
      }
      chunk.copy(target, length)
      length = needed
    }
    const onEnd = () => finish(target.subarray(0, length))
    const onClose = () => finish(incomplete())
    finish = (end) => {
      finish = () => undefined
      clearTimeout(timer)
      req.off('data', onData).off('end', onEnd).off('close', onClose).resume()
      target = Buffer.alloc(0)
      if (end instanceof ApiError) reject(end)
      else resolve(end)
    }
    // The server responds to connection errors; without a listener they would end the process.
    req.on('error', () => undefined)
    req.on('data', onData).on('end', onEnd).on('close', onClose)
    if (req.destroyed) onClose()
  })
  return { bytes, stop: (reason) => finish(reason) }
}

function enlarge(bytes: Buffer, length: number, size: number): Buffer {
  const larger = Buffer.allocUnsafe(size)
  bytes.copy(larger, 0, 0, length)
  return larger
}

const stalled = () => new ApiError('REQUEST_TIMEOUT', 'The upload stalled; send the request again')
const incomplete = () => new ApiError('INVALID_REQUEST', 'The body is incomplete; send the request again')
