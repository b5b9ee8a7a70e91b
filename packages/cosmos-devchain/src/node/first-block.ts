import { createHash } from 'node:crypto'
import { APP_NAME } from './abci-query'
import { blockIdAnswer, timeText } from './responses'
import { method, type Method } from './arguments'
import { type Chain } from './chain'

const NO_STATE_HASH = createHash('sha256').digest('base64')

/** The methods, answered as CometBFT does at height 0 while the chain awaits its first block. */
export function withFirstBlock(chain: Chain, methods: Readonly<Record<string, Method>>): typeof methods {
  const atHeight0: Readonly<Record<string, Method>> = {
    status: method({}, () => {
      const status = methods['status']?.call(undefined) as object
      return { ...status, sync_info: noSyncInfo }
    }),
    abci_info: method({}, () => ({ response: { data: APP_NAME, last_block_app_hash: NO_STATE_HASH } })),
    block: method({ height: 'integer' }, ({ height }) => {
      rejectHeight(height)
      return { block_id: blockIdAnswer(''), block: null }
    }),
    header: method({ height: 'integer' }, ({ height }) => {
      rejectHeight(height)
      return { header: null }
    }),
    commit: method({ height: 'integer' }, ({ height }) => {
      rejectHeight(height)
      return null
    }),
    block_results: method({ height: 'integer' }, ({ height }) => {
      rejectHeight(height)
      throw new Error('could not find results for height #0')
    }),
    blockchain: method({ minHeight: 'integer', maxHeight: 'integer' }, () => {
      throw new Error("min height 1 can't be greater than max height 0")
    }),
    tx: method({ hash: 'bytes', prove: 'flag' }, ({ hash = new Uint8Array() }) => {
      throw new Error(`tx (${Buffer.from(hash).toString('hex').toUpperCase()}) not found`)
    }),
    tx_search: method(
      { query: 'text', prove: 'flag', page: 'integer', per_page: 'integer', order_by: 'text' },
      () => ({ txs: [], total_count: '0' }),
    ),
  }
  const pick = (name: string, found: Method): Method => ({
    call: (parameters) => current(name, found).call(parameters),
    callByUri: (parameters) => current(name, found).callByUri(parameters),
  })
  const current = (name: string, found: Method) =>
    chain.isAwaitingFirstBlock() ? (atHeight0[name] ?? found) : found

  return Object.fromEntries(Object.entries(methods).map(([name, found]) => [name, pick(name, found)]))
}

function rejectHeight(height: number | undefined) {
  if (height === undefined) return
  if (height <= 0) throw new Error(`height must be greater than 0, but got ${height}`)
  throw new Error(`height ${height} must be less than or equal to the current blockchain height 0`)
}

const noSyncInfo = {
  latest_block_hash: '',
  latest_app_hash: '',
  latest_block_height: '0',
  latest_block_time: timeText(0),
  earliest_block_hash: '',
  earliest_app_hash: '',
  earliest_block_height: '0',
  earliest_block_time: timeText(0),
  catching_up: false,
}
