const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature that the same key is taken to have made: s negated, v swapped. Anyone can compute it. */
export function highTwin(signature: string): string {
  const s = (ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  return signature.slice(0, 66) + s + (signature.endsWith('1b') ? '1c' : '1b')
}

/** The 64-byte form of EIP-2098: the recovery id in the highest bit of s. */
export function compact(signature: string): string {
  const bytes = Buffer.from(signature.slice(2, 130), 'hex')
  if (signature.endsWith('1c')) bytes.writeUInt8(bytes.readUInt8(32) | 0x80, 32)
  return `0x${bytes.toString('hex')}`
}

/** v as 0 or 1, as hardware wallets write it. */
export const withParityAsV = (signature: string): string =>
  signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01')

/** `hex` with each of its bits flipped in turn. */
export function* bitFlips(hex: string): Generator<string> {
  const bytes = Buffer.from(hex.slice(2), 'hex')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    yield `0x${flipped.toString('hex')}`
  }
}
