import { type Mode } from '../app/context'
import { type TxResult } from '../app/run-tx'
import { branch, type Branch, type Store } from '../app/store'
import { hashOf } from '../app/tx'
import { type Block } from './block'

const MOST_TXS = 5000
const MOST_TX_BYTES = 1024 * 1024
/** Number of transactions in the cache of known transactions. */
const CACHE_SIZE = 10_000

/** Pending transactions in order of arrival, and the state after them. */
export function createMempool(
  run: (store: Store, bytes: Uint8Array, mode: Mode) => TxResult,
  committed: Store,
) {
  const txs = new Map<string, Uint8Array>()
  const seen = new Set<string>()
  let checkState: Branch = branch(committed)

  return {
    pending: () => [...txs.values()],
    size: () => txs.size,

    /** Checks a transaction and keeps it if it is valid. Throws if it is refused before the check: too large, or known already. */
    submit(bytes: Uint8Array): TxResult {
      const hash = hashOf(bytes)
      if (txs.size >= MOST_TXS)
        throw new Error(`mempool is full: number of txs ${txs.size} (max: ${MOST_TXS})`)
      if (bytes.length > MOST_TX_BYTES)
        throw new Error(`Tx too large. Max size is ${MOST_TX_BYTES}, but got ${bytes.length}`)
      if (seen.has(hash)) throw new Error('tx already exists in cache')
      const result = run(checkState, bytes, 'check')
      if (result.code !== 0) return result
      txs.set(hash, bytes)
      remember(hash)
      return result
    },

    /** Checks a transaction that is not to wait: it counts for the checks after it until the next block, as on a node. */
    check: (bytes: Uint8Array) => run(checkState, bytes, 'check'),

    /** Runs a transaction on the state after the pending ones; changes nothing. */
    simulate: (bytes: Uint8Array) => run(branch(checkState), bytes, 'simulate'),

    /** Removes the transactions of a block and those that are no longer valid. A failed transaction can be submitted again. */
    settle({ txs: included, results }: Block) {
      included.forEach((bytes, i) => {
        const hash = hashOf(bytes)
        txs.delete(hash)
        if (results[i]?.code === 0) remember(hash)
        else seen.delete(hash)
      })
      checkState = branch(committed)
      for (const [hash, bytes] of txs) {
        if (run(checkState, bytes, 'recheck').code === 0) continue
        txs.delete(hash)
        seen.delete(hash)
      }
    },

    /** Clears the mempool and its cache, like a restarted node. */
    drop() {
      txs.clear()
      seen.clear()
      checkState = branch(committed)
    },
  }

  function remember(hash: string) {
    seen.add(hash)
    const [oldest] = seen
    if (seen.size > CACHE_SIZE && oldest !== undefined) seen.delete(oldest)
  }
}
