import { BinaryReader } from 'cosmjs-types/binary'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { sdkError } from './errors'

type Field = 'varint' | 'bytes' | 'any' | readonly [message: string]
type Message = Readonly<Record<number, Field>>

const COIN = ['cosmos.base.v1beta1.Coin'] as const
const TIMESTAMP = ['google.protobuf.Timestamp'] as const
const DURATION = ['google.protobuf.Duration'] as const
const SIGNATURE_KEY: Message = { 1: 'bytes' }
const MODE_INFO = ['cosmos.tx.v1beta1.ModeInfo'] as const

/** The fields of each message that a transaction may contain. */
const messages: Readonly<Record<string, Message>> = {
  'cosmos.tx.v1beta1.TxRaw': { 1: 'bytes', 2: 'bytes', 3: 'bytes' },
  'cosmos.tx.v1beta1.TxBody': {
    1: 'any',
    2: 'bytes',
    3: 'varint',
    4: 'varint',
    5: TIMESTAMP,
    1023: 'any',
    2047: 'any',
  },
  'cosmos.tx.v1beta1.AuthInfo': {
    1: ['cosmos.tx.v1beta1.SignerInfo'],
    2: ['cosmos.tx.v1beta1.Fee'],
    3: ['cosmos.tx.v1beta1.Tip'],
  },
  'cosmos.tx.v1beta1.SignerInfo': { 1: 'any', 2: MODE_INFO, 3: 'varint' },
  'cosmos.tx.v1beta1.ModeInfo': {
    1: ['cosmos.tx.v1beta1.ModeInfo.Single'],
    2: ['cosmos.tx.v1beta1.ModeInfo.Multi'],
  },
  'cosmos.tx.v1beta1.ModeInfo.Single': { 1: 'varint' },
  'cosmos.tx.v1beta1.ModeInfo.Multi': {
    1: ['cosmos.crypto.multisig.v1beta1.CompactBitArray'],
    2: MODE_INFO,
  },
  'cosmos.crypto.multisig.v1beta1.CompactBitArray': { 1: 'varint', 2: 'bytes' },
  'cosmos.tx.v1beta1.Fee': { 1: COIN, 2: 'varint', 3: 'bytes', 4: 'bytes' },
  'cosmos.tx.v1beta1.Tip': { 1: COIN, 2: 'bytes' },
  'cosmos.base.v1beta1.Coin': { 1: 'bytes', 2: 'bytes' },
  'google.protobuf.Any': { 1: 'bytes', 2: 'bytes' },
  'google.protobuf.Timestamp': { 1: 'varint', 2: 'varint' },
  'google.protobuf.Duration': { 1: 'varint', 2: 'varint' },
  'cosmos.bank.v1beta1.MsgSend': { 1: 'bytes', 2: 'bytes', 3: COIN },
  'cosmos.bank.v1beta1.MsgMultiSend': {
    1: ['cosmos.bank.v1beta1.Input'],
    2: ['cosmos.bank.v1beta1.Output'],
  },
  'cosmos.bank.v1beta1.Input': { 1: 'bytes', 2: COIN },
  'cosmos.bank.v1beta1.Output': { 1: 'bytes', 2: COIN },
  'cosmos.feegrant.v1beta1.MsgGrantAllowance': { 1: 'bytes', 2: 'bytes', 3: 'any' },
  'cosmos.feegrant.v1beta1.MsgRevokeAllowance': { 1: 'bytes', 2: 'bytes' },
  'cosmos.feegrant.v1beta1.BasicAllowance': { 1: COIN, 2: TIMESTAMP },
  'cosmos.feegrant.v1beta1.PeriodicAllowance': {
    1: ['cosmos.feegrant.v1beta1.BasicAllowance'],
    2: DURATION,
    3: COIN,
    4: COIN,
    5: TIMESTAMP,
  },
  'cosmos.feegrant.v1beta1.AllowedMsgAllowance': { 1: 'any', 2: 'bytes' },
  'cosmos.crypto.multisig.LegacyAminoPubKey': { 1: 'varint', 2: 'any' },
  'cosmos.crypto.secp256k1.PubKey': SIGNATURE_KEY,
  'cosmos.crypto.ed25519.PubKey': SIGNATURE_KEY,
  'cosmos.evm.crypto.v1.ethsecp256k1.PubKey': SIGNATURE_KEY,
  'ethermint.crypto.v1.ethsecp256k1.PubKey': SIGNATURE_KEY,
  'injective.crypto.v1beta1.ethsecp256k1.PubKey': SIGNATURE_KEY,
  'ethermint.types.v1.ExtensionOptionsWeb3Tx': { 1: 'varint', 2: 'bytes', 3: 'bytes' },
}

const wireTypes: Readonly<Record<number, string>> = {
  0: 'varint',
  1: 'fixed64',
  2: 'bytes',
  3: 'start_group',
  4: 'end_group',
  5: 'fixed32',
}
const VARINT = 0
const BYTES = 2
const DEEPEST = 100
/** A field number with this bit set is not critical (ADR-020). */
const NON_CRITICAL = 1 << 10

/** `cosmos.bank.v1beta1.MsgSend` is `types.MsgSend` in the SDK. */
function goTypeOf(name: string): string {
  const [, module = ''] = name.split('.')
  const message = name.replace(/^(?:[a-z][a-z0-9]*\.)+/, '')
  return `${['tx', 'feegrant'].includes(module) ? module : 'types'}.${message.replaceAll('.', '_')}`
}

const refused = (what: string) => sdkError('tx parse error', what)

/**
 * Walks the bytes of a message and of its `Any`s. Refuses (2) unknown fields, unknown types and bytes that are not protobuf. With
 * `nonCritical`, unknown non-critical fields are allowed (ADR-020). Returns whether there are any.
 */
export function rejectUnknownFields(
  bytes: Uint8Array,
  name: string,
  nonCritical: boolean,
  depth = 0,
): boolean {
  const fields = messages[name]
  if (!fields) throw refused(`unable to resolve type URL /${name}`)
  if (depth > DEEPEST) throw refused('recursion limit reached')
  let found = false
  for (const { number, wireType, value } of attempt(() => fieldsOf(bytes))) {
    const field = fields[number]
    if (field === undefined) {
      const passes = (number & NON_CRITICAL) !== 0
      if (!passes || !nonCritical)
        throw refused(
          `errUnknownField "*${goTypeOf(name)}": {TagNum: ${number}, WireType:"${wireTypes[wireType]}"}`,
        )
      found = true
      continue
    }
    const wanted = field === 'varint' ? VARINT : BYTES
    if (wireType !== wanted)
      throw refused(
        `Mismatched "*${goTypeOf(name)}": {TagNum: ${number}, GotWireType: "${wireTypes[wireType]}" != WantWireType: "${wireTypes[wanted]}"}`,
      )
    if (field === 'varint' || field === 'bytes') continue
    if (field === 'any') {
      const walked = rejectUnknownFields(value, 'google.protobuf.Any', nonCritical, depth + 1)
      const any = Any.decode(value)
      const inner = rejectUnknownFields(any.value, any.typeUrl.replace(/^\//, ''), nonCritical, depth + 1)
      found = found || walked || inner
    } else {
      const inner = rejectUnknownFields(value, field[0], nonCritical, depth + 1)
      found = found || inner
    }
  }
  return found
}

/** A `TxRaw` has exactly one encoding: ascending fields and the shortest lengths (ADR-027). */
export function rejectOtherEncodings(bytes: Uint8Array) {
  let previous = 0
  for (const { number, wireType, lengthBytes, value } of attempt(() => fieldsOf(bytes), 'invalid length; ')) {
    if (wireType !== BYTES) throw refused(`expected 2 wire type, got ${wireType}`)
    if (number < previous)
      throw refused(`txRaw must follow ADR-027, got tagNum ${number} after tagNum ${previous}`)
    const needed = shortest(value.length)
    if (lengthBytes !== needed)
      throw refused(
        `length prefix varint for tagNum ${number} is not as short as possible, read ${lengthBytes}, only need ${needed}`,
      )
    previous = number
  }
}

const shortest = (length: number) => Math.max(1, Math.ceil((32 - Math.clz32(length)) / 7))

function attempt<T>(read: () => T, prefix = ''): T {
  try {
    return read()
  } catch (problem) {
    throw refused(prefix + (problem instanceof FieldNumberError ? problem.message : 'unexpected EOF'))
  }
}

class FieldNumberError extends Error {}

/** The fields of a message in order. `value` is the content of a length-delimited field and empty for other wire types. */
function fieldsOf(bytes: Uint8Array) {
  const reader = new BinaryReader(bytes)
  const fields: { number: number; wireType: number; lengthBytes: number; value: Uint8Array }[] = []
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    const number = tag >>> 3
    const wireType = tag & 7
    if (number === 0) throw new FieldNumberError('proto: invalid field number')
    const start = reader.pos
    let value = new Uint8Array()
    if (wireType === BYTES) value = Uint8Array.from(reader.bytes())
    else reader.skipType(wireType)
    if (reader.pos > reader.len) throw new RangeError('premature EOF')
    fields.push({ number, wireType, lengthBytes: reader.pos - start - value.length, value })
  }
  return fields
}
