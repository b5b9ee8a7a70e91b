import { closeSync, existsSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Changes } from '../app/store'
import { type Block, readBlock, writeBlock } from './block'

/** State found at start: none, all of it, or the part before an unreadable line. */
export type Restored = 'new' | 'kept' | 'earlier'

/** First record of a block log: the state at the height of the last compaction. */
type Snapshot = {
  chainId: string
  height: number
  appHash: string
  state: [string, string][]
}

export type Memory = {
  restored: Restored
  snapshot: Snapshot | undefined
  /** In chain order; without `changes` if the snapshot contains them. */
  blocks: { block: Block; changes?: Changes }[]
}

/**
 * Reads the chain from `folder`. An incomplete last line is skipped, because its block was never announced. If any other line is
 * unreadable, the chain continues from the block before it.
 */
export function readBlockLog(folder: string, chainId: string): Memory {
  const file = join(folder, 'chain.jsonl')
  const nothing: Memory = { restored: 'new', snapshot: undefined, blocks: [] }
  if (!existsSync(file)) return nothing
  const [first = '', ...lines] = readFileSync(file, 'utf8').split('\n')
  const snapshot = parse(() => JSON.parse(first) as Snapshot)
  if (snapshot?.chainId !== chainId) {
    renameSync(file, `${file}.unreadable`)
    return nothing
  }
  const blocks: Memory['blocks'] = []
  let restored: Restored = 'kept'
  for (const [i, line] of lines.entries()) {
    if (line === '') continue
    const read = parse(() => readBlock(line))
    if (read) {
      const isInSnapshot = read.block.header.height <= snapshot.height
      blocks.push(isInSnapshot ? { block: read.block } : read)
    } else {
      if (i < lines.length - 1) restored = 'earlier'
      break
    }
  }
  return { restored, snapshot, blocks }
}

/** Compacts the block log to the current state and the recent blocks; returns the function that appends. */
export function openBlockLog(folder: string, snapshot: Snapshot, blocks: readonly Block[]) {
  const file = join(folder, 'chain.jsonl')
  const lines = [JSON.stringify(snapshot), ...blocks.map((block) => writeBlock(block, new Map()))]
  writeFileSync(`${file}.new`, `${lines.join('\n')}\n`)
  renameSync(`${file}.new`, file)
  const descriptor = openSync(file, 'a')
  return {
    /** When it returns, the block survives a crash of the process. */
    add: (block: Block, changes: Changes) => void writeSync(descriptor, `${writeBlock(block, changes)}\n`),
    close: () => closeSync(descriptor),
  }
}

function parse<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
