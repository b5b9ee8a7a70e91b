import { type TxAnswer } from './peer'

const patterns: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, '(time)'],
  [/^([0-9A-F]{64}|[0-9a-f]{64})$/, '(hash)'],
  [/^([0-9A-F]{40}|[0-9a-f]{40})$/, '(address)'],
  [/^-?\d+$/, '(integer)'],
  [/^tcp:/, '(listener)'],
  [/^[A-Za-z0-9+/]{43}=$/, '(32 bytes)'],
  [/^[A-Za-z0-9+/]{86}==$/, '(64 bytes)'],
]
/** Fields that differ by program. */
const OWN = new Set(['moniker', 'name'])

/** Replaces values that differ between two chains by their kind: hashes, times, heights and keys. */
export function shapeOf(value: unknown): unknown {
  if (typeof value === 'string')
    return patterns.find(([pattern]) => pattern.test(value))?.[1] ?? wordsOf(value)
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value
  const shared = Object.entries(value).filter(([key]) => !OWN.has(key))
  return Object.fromEntries(shared.map(([key, member]) => [key, shapeOf(member)]))
}

/** Removes the parts of a log that differ by height, time, gas price and program; the SDK prints some bytes as text. */
export const wordsOf = (text: string): string =>
  text
    .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000 UTC/g, '(time)')
    .replaceAll(/gasUsed: \d+|gas used: '\d+'/g, '(gas)')
    .replaceAll(/location: \w+/g, '(location)')
    .replaceAll(/account number \(\d+\)/g, '(account number)')
    .replaceAll(/ \[\S+\.go:\d+\]/g, '')
    .replaceAll(/\(expected \w+ got \w+\)/g, '')
    .replaceAll(/current blockchain height \d+|block height: \d+/g, '(height)')
    // protobuf-go varies it.
    .replaceAll('\u00a0', ' ')
    .replaceAll(/\S+ is not ready;/g, '(app) is not ready;')
    .replaceAll(/wireType \d/g, '(wire type)')
    // Errors about invalid JSON or parameters come from Go's decoder.
    .replace(/^(error (?:converting \w+ params to arguments|unmarshaling request)).*/s, '$1')
    .replace(/^offset \d+: .*/, '(syntax)')
    .replaceAll(/[^\x20-\x7e]+/g, '(bytes)')
    .trim()

/** A result without gas, and with attributes in a fixed order. */
export const outcomeOf = ({ code, codespace, log, data, events }: TxAnswer) => ({
  code,
  codespace,
  log: wordsOf(log),
  data,
  events: (events ?? []).map(({ type, attributes }) => [
    type,
    ...attributes.map(({ key, value }) => `${key}=${key === 'signature' ? '(signature)' : value}`),
  ]),
})
