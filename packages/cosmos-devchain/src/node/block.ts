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
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'base64'))

type ResultRow = [number, string, string, string, string, string, Event[]]
type Row = {
  header: Header
  hash: string
  txs: string[]
  results: ResultRow[]
  changes: [string, string | null][]
}

/** One line of the block log: the block and its state changes. */
export function writeBlock({ header, hash, txs, results }: Block, changes: Changes): string {
  const row: Row = {
    header,
    hash,
    txs: txs.map(base64),
    results: results.map(({ code, codespace, log, data, gasWanted, gasUsed, events }) => [
      code,
      codespace,
      log,
      base64(data),
      gasWanted.toString(),
      gasUsed.toString(),
      events,
    ]),
    changes: [...changes].map(([key, value]) => [key, value ?? null]),
  }
  return JSON.stringify(row)
}

export function readBlock(line: string): { block: Block; changes: Changes } {
  const { header, hash, txs, results, changes } = JSON.parse(line) as Row
  const block = {
    header,
    hash,
    txs: txs.map(bytesOf),
    results: results.map(([code, codespace, log, data, gasWanted, gasUsed, events]) => ({
      code,
      codespace,
      log,
      data: bytesOf(data),
      gasWanted: BigInt(gasWanted),
      gasUsed: BigInt(gasUsed),
      events,
    })),
  }
  return { block, changes: new Map(changes.map(([key, value]) => [key, value ?? undefined])) }
}
