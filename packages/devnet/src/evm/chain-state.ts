import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What we read of the state that anvil writes; the rest passes through as it is. */
type ChainState = {
  best_block_number: string | number
  blocks: { header: { number: string }; transactions: unknown[] }[]
}

/** Empty blocks older than this say nothing that anybody asks for. */
const EMPTY_BLOCKS_KEPT = 256

/**
 * Makes the state file fit to start from, and answers what it holds: nothing yet (`new`), the chain as it was (`kept`), or, where the last
 * write was cut short, the chain as it was at the start before (`earlier`). Old empty blocks are left out, or every start would be slower than the last.
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

/** anvil overwrites its file in place: killed while writing, it leaves half a document. */
function readState(file: string): ChainState | undefined {
  if (!existsSync(file)) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ChainState
  } catch {
    return undefined
  }
}
