import { hash } from 'node:crypto'

/** SHA-256: how secrets are kept and requests are told apart. */
export const sha256 = (text: string): Buffer<ArrayBuffer> => hash('sha256', text, 'buffer')
