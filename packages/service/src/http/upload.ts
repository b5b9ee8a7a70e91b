import { type IncomingMessage } from 'node:http'
import { ApiError } from '../errors'

/** How long a body may stop coming. The server bounds how long a request may take in all. */
const STALLED_MS = 10_000

export type Upload = { bytes: Promise<Buffer>; stop: (reason: ApiError) => void }

/**
 * Collects the bytes of a body. Those of a declared length are allocated once; in chunks they grow, and `onGrowth` is asked
 * first: what it returns stops the upload. What arrives after the end, or after a stop, is discarded.
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
    const timer = setTimeout(() => finish(stalled()), STALLED_MS)
    const onData = (chunk: Buffer) => {
      timer.refresh()
      const needed = length + chunk.length
      if (needed > target.length) {
        const refusal = onGrowth(needed)
        if (refusal) {
          finish(refusal)
          return
        }
        target = grown(target, length, Math.max(needed, Math.min(2 * target.length, limitBytes)))
      }
      chunk.copy(target, length)
      length = needed
    }
    const onEnd = () => finish(target.subarray(0, length))
    const onClose = () => finish(brokenOff())
    finish = (end) => {
      finish = () => undefined
      clearTimeout(timer)
      req.off('data', onData).off('end', onEnd).off('close', onClose).resume()
      target = Buffer.alloc(0)
      if (end instanceof ApiError) reject(end)
      else resolve(end)
    }
    // The server answers errors of the connection; unheard, they would end the process.
    req.on('error', () => undefined)
    req.on('data', onData).on('end', onEnd).on('close', onClose)
    if (req.destroyed) onClose()
  })
  return { bytes, stop: (reason) => finish(reason) }
}

function grown(bytes: Buffer, length: number, size: number): Buffer {
  const larger = Buffer.allocUnsafe(size)
  bytes.copy(larger, 0, 0, length)
  return larger
}

const stalled = () => new ApiError('REQUEST_TIMEOUT', 'The body stopped coming; send the request again')
const brokenOff = () =>
  new ApiError('INVALID_REQUEST', 'The body broke off before its end; send the request again')
