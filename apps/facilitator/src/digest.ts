import { createHash } from 'node:crypto'

/** SHA-256: how secrets are kept and requests are told apart. */
export const sha256 = (text: string): Buffer<ArrayBuffer> =>
  Buffer.from(createHash('sha256').update(text).digest())
