import { hashOf } from '../app/tx'
import { broadcastAnswer, indexedTxAnswer, txResultAnswer } from './responses'
import { method, type Method } from './arguments'
import { type Chain } from './chain'
import { type BlockProducer } from './block-producer'
import { ordered, pageOf } from './pages'

const LONGEST_QUERY = 512
const NOTHING = new Uint8Array()

/** CometBFT's JSON-RPC methods for transactions. */
export function createTxMethods(
  chain: Chain,
  blockProducer: BlockProducer,
): Readonly<Record<string, Method>> {
  const { mempool, index } = chain

  return {
    check_tx: method({ tx: 'bytes' }, ({ tx = NOTHING }) => txResultAnswer(mempool.check(tx))),
    broadcast_tx_sync: method({ tx: 'bytes' }, ({ tx = NOTHING }) => broadcastAnswer(submit(tx), hashOf(tx))),

    num_unconfirmed_txs: method({}, () => {
      const txs = mempool.pending()
      const bytes = txs.reduce((sum, tx) => sum + tx.length, 0)
      return { n_txs: String(txs.length), total: String(txs.length), total_bytes: String(bytes), txs: null }
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
}
