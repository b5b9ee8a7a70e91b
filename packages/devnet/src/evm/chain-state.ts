import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The parts of anvil's state that we read; the rest is copied unchanged. */
type ChainState = {
  best_block_number: string | number
  blocks: { header: { number: string }; transactions: unknown[] }[]
}

/** Number of recent empty blocks that are kept. */
const EMPTY_BLOCKS_KEPT = 256

/**
 * Prepares the state file for a start and returns its content: nothing (`new`), the whole chain (`kept`), or, if the last write was
 * incomplete, the chain at the previous start (`earlier`). Old empty blocks are removed, or each start would be slower than the last.
 */
export function prepareChainState(folder: string): { file: string; restored: 'new' | 'kept' | 'earlier' } {
  const file = join(folder, 'chain.json')
  const previous = join(folder, 'chain.previous.json')
  const last = readState(file)
  const state = last ?? readState(previous)
  if (!state) {
    if (existsSync(file)) renameSync(file, `${file}.unreadable`)
    return { file, restored: 'new' }
  }
  const best = Number(state.best_block_number)
  const blocks = state.blocks.filter(({ header, transactions }) => {
    const number = Number(header.number)
    return transactions.length > 0 || number === 0 || number > best - EMPTY_BLOCKS_KEPT
  })
  const text = JSON.stringify({ ...state, blocks })
  for (const target of [previous, file]) {
    writeFileSync(`${target}.new`, text)
    renameSync(`${target}.new`, target)
  }
  return { file, restored: last ? 'kept' : 'earlier' }
}

/** Anvil overwrites its file in place, so a kill can leave an incomplete document. */
function readState(file: string): ChainState | undefined {
  if (!existsSync(file)) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ChainState
  } catch {
    return undefined
  }
}
