type Value = bigint | string | Uint8Array

const LENGTH_DELIMITED = 2n
/** By wire type, the bytes of a value of fixed length: I64 and I32. */
const fixedLengths: Readonly<Record<string, number>> = { 1: 8, 5: 4 }

/**
 * Encodes a message by the numbers of its fields, canonically (ADR-027). A zero or empty value is omitted; the items of an array, for a
 * repeated field or a nested message, never are.
 */
export function writeMessage(fields: Readonly<Record<number, Value | readonly Value[]>>): Uint8Array {
  const bytes: number[] = []
  // JavaScript lists integer keys in ascending order.
  for (const [number, content] of Object.entries(fields)) {
    const values = typeof content === 'object' && !(content instanceof Uint8Array) ? content : [content]
    const isRepeated = values === content
    for (const value of values) writeField(bytes, BigInt(number), value, isRepeated)
  }
  return Uint8Array.from(bytes)
}

function writeField(bytes: number[], number: bigint, value: Value, isRepeated: boolean): void {
  if (typeof value === 'bigint') {
    if (value !== 0n || isRepeated) bytes.push(...varint(number << 3n), ...varint(value))
    return
  }
  const content = typeof value === 'string' ? new TextEncoder().encode(value) : value
  if (content.length === 0 && !isRepeated) return
  bytes.push(...varint((number << 3n) | LENGTH_DELIMITED), ...varint(BigInt(content.length)), ...content)
}

function varint(value: bigint): number[] {
  const bytes: number[] = []
  for (; value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128)
  return [...bytes, Number(value)]
}

export type Fields = ReadonlyMap<number, bigint | Uint8Array>

/** The fields of a message by their numbers, of a repeated one the last. @throws RangeError if the bytes are no message */
export function readMessage(bytes: Uint8Array): Fields {
  const fields = new Map<number, bigint | Uint8Array>()
  let at = 0

  function readVarint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) break
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asUintN(64, value)
    }
    throw new RangeError('No protobuf message')
  }

  function readBytes(length: number): Uint8Array {
    const end = at + length
    if (end > bytes.length) throw new RangeError('No protobuf message')
    return bytes.subarray(at, (at = end))
  }

  while (at < bytes.length) {
    const tag = readVarint()
    const wireType = tag & 7n
    const length = wireType === LENGTH_DELIMITED ? Number(readVarint()) : fixedLengths[String(wireType)]
    if (length === undefined && wireType !== 0n) throw new RangeError('No protobuf message')
    fields.set(Number(tag >> 3n), length === undefined ? readVarint() : readBytes(length))
  }
  return fields
}

/** Empty if the field is missing. @throws RangeError if it is a number */
export function bytesAt(fields: Fields, number: number): Uint8Array {
  const value = fields.get(number) ?? new Uint8Array()
  if (typeof value === 'bigint') throw new RangeError('No protobuf message')
  return value
}

export const textAt = (fields: Fields, number: number): string =>
  new TextDecoder().decode(bytesAt(fields, number))

/** Zero if the field is missing. @throws RangeError if it is bytes */
export function numberAt(fields: Fields, number: number): bigint {
  const value = fields.get(number) ?? 0n
  if (typeof value !== 'bigint') throw new RangeError('No protobuf message')
  return value
}
