import { keccak256 } from '../keccak'

const BLOB_TYPE = 3

/**
 * The hash of a signed transaction, legacy or typed (EIP-2718), in the form that `eth_sendRawTransaction` takes. A transaction
 * with blobs comes with them (EIP-4844); its hash is that of its first part.
 */
export function transactionHash(raw: Uint8Array): string {
  const body = raw[0] === BLOB_TYPE ? withoutBlobs(raw) : raw
  return keccak256(body)
}

function withoutBlobs(raw: Uint8Array): Uint8Array {
  const outer = listAt(raw, 1)
  const inner = outer && listAt(raw, outer.start)
  if (!inner || inner.end > raw.length) return raw
  const body = raw.subarray(outer.start, inner.end)
  return Buffer.concat([Uint8Array.of(BLOB_TYPE), body])
}

/** Where the content of the RLP list at `at` starts and ends; undefined if there is no list. */
function listAt(bytes: Uint8Array, at: number): { start: number; end: number } | undefined {
  const first = bytes[at] ?? 0
  if (first < 0xc0) return undefined
  if (first <= 0xf7) return { start: at + 1, end: at + 1 + first - 0xc0 }
  const start = at + 1 + first - 0xf7
  const length = bytes.subarray(at + 1, start).reduce((sum, byte) => sum * 256 + byte, 0)
  return { start, end: start + length }
}
