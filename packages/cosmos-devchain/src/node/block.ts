import { type Event } from '../app/context'
import { type TxResult } from '../app/run-tx'
import { type Changes } from '../app/store'
import { type Header } from './header'

export type Block = {
  header: Header
  hash: string
  txs: Uint8Array[]
  /** One for each transaction. */
  results: TxResult[]
  /** Events outside transactions. */
  events: Event[]
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'base64'))

type ResultRow = [number, string, string, string, string, string, Event[]]
type Row = {
  header: Header
  hash: string
  txs: string[]
  results: ResultRow[]
  events: Event[]
  changes: [string, string | null][]
}

/** One line of the block log: the block and its state changes. */
export function writeBlock({ header, hash, txs, results, events }: Block, changes: Changes): string {
  const row: Row = {
    header,
    hash,
    txs: txs.map(base64),
    results: results.map(({ code, codespace, log, data, gasWanted, gasUsed, events: told }) => [
      code,
      codespace,
      log,
      base64(data),
      gasWanted.toString(),
      gasUsed.toString(),
      told,
    ]),
    events,
    changes: [...changes].map(([key, value]) => [key, value ?? null]),
  }
  return JSON.stringify(row)
}

export function readBlock(line: string): { block: Block; changes: Changes } {
  const { header, hash, txs, results, events, changes } = JSON.parse(line) as Row
  const block = {
    header,
    hash,
    txs: txs.map(bytesOf),
    results: results.map(([code, codespace, log, data, gasWanted, gasUsed, told]) => ({
      code,
      codespace,
      log,
      data: bytesOf(data),
      gasWanted: BigInt(gasWanted),
      gasUsed: BigInt(gasUsed),
      events: told,
    })),
    events,
  }
  return { block, changes: new Map(changes.map(([key, value]) => [key, value ?? undefined])) }
}
