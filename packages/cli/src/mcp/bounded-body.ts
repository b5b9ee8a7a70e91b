export type BoundedBody = { bytes: Buffer; isCut: boolean }

/** The first `maxBytes` of a body. What cannot be read to its end is cut, too. */
export async function readBounded(answer: Response, maxBytes: number): Promise<BoundedBody> {
  const reader = (answer.body as ReadableStream<Uint8Array> | null)?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  let isCut = false
  try {
    while (reader && !isCut) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      size += value.length
      isCut = size > maxBytes
    }
  } catch {
    isCut = true
  }
  if (isCut) await reader?.cancel().catch(() => undefined)
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut }
}

const TEXT = /^(text\/|application\/([a-z0-9.+-]*(json|xml|javascript|yaml)|x-www-form-urlencoded))/i

/** As text if its type or its bytes say that it is, else as base64. A character that the bound has split is left out. */
export function encodeBody(
  { bytes, isCut }: BoundedBody,
  contentType: string | null,
): { body: string; encoding: 'text' | 'base64' } {
  const text = new TextDecoder('utf-8', { fatal: true })
  try {
    if (contentType !== null && !TEXT.test(contentType)) throw new TypeError('not text')
    return { body: text.decode(bytes, { stream: isCut }), encoding: 'text' }
  } catch {
    return { body: bytes.toString('base64'), encoding: 'base64' }
  }
}
