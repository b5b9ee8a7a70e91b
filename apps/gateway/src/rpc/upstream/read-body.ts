import { promisify } from 'node:util'
import { brotliDecompress, brotliDecompressSync, gunzip, gunzipSync, inflate, inflateSync } from 'node:zlib'
import { type Answer } from './upstream-exchange'

const decompressors = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}
const syncDecompressors = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync }

/** Decompressing more than this takes longer than a call may cost, and one compressed error has about 150 bytes. */
const MAX_SYNC_COMPRESSED_BYTES = 512

const isKnown = (encoding: string): encoding is keyof typeof decompressors =>
  Object.hasOwn(decompressors, encoding)

const encodingOf = ({ headers }: Answer) => String(headers['content-encoding'] ?? 'identity').toLowerCase()

/** The content of a short answer, at once; undefined if it is longer, streamed or in an unknown encoding. */
export function readShortBody(answer: Answer, maxBytes: number): Buffer | undefined {
  const { body, rest } = answer
  if (rest) return undefined
  const encoding = encodingOf(answer)
  if (encoding === 'identity') return body.length <= maxBytes ? body : undefined
  if (!isKnown(encoding) || body.length > MAX_SYNC_COMPRESSED_BYTES) return undefined
  try {
    return syncDecompressors[encoding](body, { maxOutputLength: maxBytes })
  } catch {
    return undefined
  }
}

/** Does what {@link readShortBody} does, for answers whose compressed form may be longer. */
export async function readBody(answer: Answer, maxBytes: number): Promise<Buffer | undefined> {
  const content = await readContent(answer, maxBytes)
  return Buffer.isBuffer(content) ? content : undefined
}

/** `unreadable`: the whole answer is there, and is not what its encoding says. */
export async function readContent(
  answer: Answer,
  maxBytes: number,
): Promise<Buffer | 'too_long' | 'unreadable'> {
  const { body, rest } = answer
  if (rest) return 'too_long'
  const encoding = encodingOf(answer)
  if (encoding === 'identity') return body.length <= maxBytes ? body : 'too_long'
  if (!isKnown(encoding)) return 'unreadable'
  try {
    return await decompressors[encoding](body, { maxOutputLength: maxBytes })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_long' : 'unreadable'
  }
}

export const isCompressed = (answer: Answer): boolean => encodingOf(answer) !== 'identity'

export const mediaTypeOf = ({ headers }: Answer): string =>
  (String(headers['content-type'] ?? '').split(';', 1)[0] ?? '').trim().toLowerCase()
