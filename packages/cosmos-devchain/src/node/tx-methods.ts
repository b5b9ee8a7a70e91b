import { type TxResult } from '../app/run-tx'
import { hashOf } from '../app/tx'
import { broadcastAnswer, indexedTxAnswer, txResultAnswer } from './responses'
import { method, type Method } from './arguments'
import { type Chain } from './chain'
import { type BlockProducer } from './block-producer'
import { ordered, pageOf, pageSize } from './pages'

const LONGEST_QUERY = 512
const COMMIT_TIMEOUT_MS = 10_000
const NOTHING = new Uint8Array()
const NO_RESULT: TxResult = {
  code: 0,
  codespace: '',
  log: '',
  data: NOTHING,
  gasWanted: 0n,
  gasUsed: 0n,
  events: [],
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

/** CometBFT's JSON-RPC methods for transactions. */
export function createTxMethods(
  chain: Chain,
  blockProducer: BlockProducer,
): Readonly<Record<string, Method>> {
  const { mempool, index } = chain

  return {
    check_tx: method({ tx: 'bytes' }, ({ tx = NOTHING }) => txResultAnswer(mempool.check(tx))),
    broadcast_tx_sync: method({ tx: 'bytes' }, ({ tx = NOTHING }) => broadcastAnswer(submit(tx), hashOf(tx))),
    broadcast_tx_async: method({ tx: 'bytes' }, ({ tx = NOTHING }) => {
      submit(tx)
      return broadcastAnswer(NO_RESULT, hashOf(tx))
    }),
    broadcast_tx_commit: method({ tx: 'bytes' }, ({ tx = NOTHING }) => submitAndWait(tx)),

    num_unconfirmed_txs: method({}, () => ({ ...mempoolAnswer(mempool.size()), txs: null })),
    unconfirmed_txs: method({ limit: 'integer' }, ({ limit }) => {
      const txs = mempool.pending().slice(0, pageSize(limit)).map(base64)
      return { ...mempoolAnswer(txs.length), txs }
    }),

    tx: method({ hash: 'bytes', prove: 'flag' }, ({ hash = NOTHING }) => {
      if (hash.length === 0) throw new Error('transaction hash cannot be empty')
      const text = Buffer.from(hash).toString('hex').toUpperCase()
      const found = index.get(text)
      if (!found) throw new Error(`tx (${text}) not found`)
      return indexedTxAnswer(found)
    }),
    tx_search: method(
      { query: 'text', prove: 'flag', page: 'integer', per_page: 'integer', order_by: 'text' },
      ({ query = '', page, per_page, order_by = 'asc' }) => {
        if (query.length > LONGEST_QUERY) throw new Error('maximum query length exceeded')
        const { items, total } = pageOf(ordered(index.search(query), order_by), page, per_page)
        return { txs: items.map(indexedTxAnswer), total_count: total }
      },
    ),
  }

  function submit(bytes: Uint8Array) {
    const result = mempool.submit(bytes)
    if (result.code === 0) blockProducer.onPending()
    return result
  }

  function submitAndWait(bytes: Uint8Array) {
    const hash = hashOf(bytes)
    const checked = submit(bytes)
    const answer = (included?: { result: TxResult; height: number }) => ({
      check_tx: txResultAnswer(checked),
      tx_result: txResultAnswer(included?.result ?? NO_RESULT),
      hash,
      height: String(included?.height ?? 0),
    })
    if (checked.code !== 0) return answer()
    return new Promise((resolve, reject) => {
      const stopWaiting = chain.whenIncluded(hash, () => {
        clearTimeout(timer)
        resolve(answer(index.get(hash)))
      })
      const timer = setTimeout(() => {
        stopWaiting()
        reject(new Error('timed out waiting for tx to be included in a block'))
      }, COMMIT_TIMEOUT_MS)
    })
  }

  function mempoolAnswer(told: number) {
    const txs = mempool.pending()
    return {
      n_txs: String(told),
      total: String(txs.length),
      total_bytes: String(txs.reduce((sum, tx) => sum + tx.length, 0)),
    }
  }
}
