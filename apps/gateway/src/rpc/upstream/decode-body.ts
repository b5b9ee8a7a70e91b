import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { type Answer } from './upstream-exchange'

const decompressors = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** The body without its encoding. Undefined if that is unknown or broken, or if the body is longer than `maxLength`. */
export async function decodeBody(
  { body, headers }: Pick<Answer, 'body' | 'headers'>,
  maxLength: number,
): Promise<Buffer | undefined> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
  if (body.length > maxLength) return undefined
  if (encoding === 'identity' || encoding === '') return body
  if (!Object.hasOwn(decompressors, encoding)) return undefined
  try {
    return await decompressors[encoding as keyof typeof decompressors](body, { maxOutputLength: maxLength })
  } catch {
    return undefined
  }
}
