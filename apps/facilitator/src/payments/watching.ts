import { type BlockId } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Counts } from '../operations/counts'
import { type Lane, type TransactionStore } from './transaction-store'

/**
 * Watches what is settled until no reorg can undo it. What a reorg drops is reversed, and followed again as if it had never
 * been mined: it is sent again, and may settle once more.
 */
export function createWatcher(parts: {
  network: Network
  lane: Lane
  transactions: TransactionStore
  counts: Counts
  logger: Logger
}) {
  const { network, lane, transactions, counts, logger } = parts
  const { chain, name } = network

  /** Looks once at every block that holds a transaction of ours and is not too deep for a reorg. Resolves to whether one was dropped. */
  async function watchMined(): Promise<boolean> {
    const blocks = await transactions.watched(lane)
    if (blocks.length === 0) return false
    const { number: height } = await chain.head()
    const isThere = await Promise.all(blocks.map((block) => chain.includes(block)))
    const gone = blocks.filter((_, index) => !isThere[index])
    for (const block of gone) await lookAfter(block)
    if (gone.length === 0) await transactions.finalize(lane, height - chain.reorgDepth)
    return gone.length > 0
  }

  async function lookAfter(block: BlockId) {
    for (const { id, hash } of await transactions.minedIn(lane, block)) {
      const inspection = await chain.inspect(hash)
      if (inspection.status === 'mined') {
        await transactions.move(id, inspection.block)
        continue
      }
      const settlements = await transactions.reverse(id)
      logger.error('a reorg dropped a transaction; it is sent again', {
        transaction: hash,
        blockNumber: block.number,
        settlements,
      })
      settlements.forEach(() => counts.reversed({ network: name }))
    }
  }

  return { watchMined }
}
