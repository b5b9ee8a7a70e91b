import { APP_NAME, createAbciQuery } from './abci-query'
import {
  blockAnswer,
  blockIdAnswer,
  blockMetaAnswer,
  commitAnswer,
  consensusParamsAnswer,
  eventsAnswer,
  headerAnswer,
  statusAnswer,
  timeText,
  txResultAnswer,
  validatorAnswer,
} from './responses'
import { method, type Method } from './arguments'
import { type Block } from './block'
import { type Chain } from './chain'
import { compares, parseQuery } from './index-of-txs'
import { ordered, pageOf } from './pages'

const MOST_HEADERS = 20

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

/** CometBFT's JSON-RPC methods for blocks and state. An error that a method throws becomes an internal error (-32603) with its message as data. */
export function createChainMethods(chain: Chain, listenAddress: string): Readonly<Record<string, Method>> {
  const abciQuery = createAbciQuery(chain)

  return {
    health: method({}, () => ({})),
    status: method({}, () => statusAnswer(chain, listenAddress)),
    net_info: method({}, () => ({ listening: true, listeners: ['Listener(@)'], n_peers: '0', peers: [] })),
    genesis: method({}, () => ({
      genesis: {
        genesis_time: timeText(chain.block(1)?.header.time ?? 0),
        chain_id: chain.chainId,
        initial_height: '1',
        consensus_params: consensusParamsAnswer(),
        app_hash: '',
        app_state: {},
      },
    })),
    abci_info: method({}, () => ({
      response: {
        data: APP_NAME,
        version: 'development only',
        last_block_height: String(chain.latest().header.height),
        last_block_app_hash: base64(Buffer.from(chain.appHash(), 'hex')),
      },
    })),
    abci_query: method(
      { path: 'text', data: 'hex', height: 'integer', prove: 'flag' },
      ({ path = '', data = new Uint8Array(), height = 0 }) => {
        const answer = abciQuery(path, data, height)
        return {
          response: {
            code: answer.code,
            log: answer.log,
            info: '',
            index: '0',
            key: null,
            value: answer.value.length > 0 ? base64(answer.value) : null,
            proofOps: null,
            height: String(answer.height),
            codespace: answer.codespace,
          },
        }
      },
    ),

    block: method({ height: 'integer' }, ({ height }) => blockAnswer(blockAt(height))),
    block_by_hash: method({ hash: 'bytes' }, ({ hash = new Uint8Array() }) => {
      const found = blockOfHash(hash)
      return found ? blockAnswer(found) : { block_id: blockIdAnswer(''), block: null }
    }),
    header: method({ height: 'integer' }, ({ height }) => ({ header: headerAnswer(blockAt(height).header) })),
    header_by_hash: method({ hash: 'hex' }, ({ hash = new Uint8Array() }) => {
      const found = blockOfHash(hash)
      return { header: found ? headerAnswer(found.header) : null }
    }),
    commit: method({ height: 'integer' }, ({ height }) => {
      const { header, hash } = blockAt(height)
      return {
        signed_header: {
          header: headerAnswer(header),
          commit: commitAnswer(header.height, hash, header.time),
        },
        canonical: header.height < chain.latest().header.height,
      }
    }),
    block_results: method({ height: 'integer' }, ({ height }) => {
      const { header, results, events } = blockAt(height)
      return {
        height: String(header.height),
        txs_results: results.length > 0 ? results.map(txResultAnswer) : null,
        finalize_block_events: eventsAnswer(events),
        validator_updates: null,
        consensus_param_updates: { ...consensusParamsAnswer(), version: {}, abci: {} },
        app_hash: base64(
          Buffer.from(chain.block(header.height + 1)?.header.appHash ?? chain.appHash(), 'hex'),
        ),
      }
    }),
    blockchain: method({ minHeight: 'integer', maxHeight: 'integer' }, ({ minHeight = 0, maxHeight = 0 }) => {
      if (minHeight < 0 || maxHeight < 0) throw new Error('heights must be non-negative')
      const newest = chain.latest().header.height
      const last = Math.min(maxHeight || newest, newest)
      const first = Math.max(minHeight || 1, chain.baseHeight(), last - MOST_HEADERS + 1)
      if (first > last) throw new Error(`min height ${first} can't be greater than max height ${last}`)
      const metas = Array.from({ length: last - first + 1 }, (_, i) => chain.block(last - i))
      return {
        last_height: String(newest),
        block_metas: metas.filter((block) => block !== undefined).map(blockMetaAnswer),
      }
    }),
    block_search: method(
      { query: 'text', page: 'integer', per_page: 'integer', order_by: 'text' },
      ({ query = '', page, per_page, order_by = 'desc' }) => {
        const conditions = parseQuery(query)
        const newest = chain.latest().header.height
        const found: Block[] = []
        for (let height = chain.baseHeight(); height <= newest; height++) {
          const block = chain.block(height)
          const holds = conditions.every(
            ({ key, operator, value }) => key === 'block.height' && compares(String(height), operator, value),
          )
          if (block && holds) found.push(block)
        }
        const { items, total } = pageOf(ordered(found, order_by), page, per_page)
        return { blocks: items.map(blockAnswer), total_count: total }
      },
    ),
    validators: method({ height: 'integer', page: 'integer', per_page: 'integer' }, ({ height }) => ({
      block_height: String(blockAt(height).header.height),
      validators: [{ ...validatorAnswer(), proposer_priority: '0' }],
      count: '1',
      total: '1',
    })),
    consensus_params: method({ height: 'integer' }, ({ height }) => ({
      block_height: String(blockAt(height).header.height),
      consensus_params: consensusParamsAnswer(),
    })),
  }

  function blockAt(wanted: number | undefined): Block {
    const newest = chain.latest()
    if (wanted === undefined) return newest
    if (wanted <= 0) throw new Error(`height must be greater than 0, but got ${wanted}`)
    if (wanted > newest.header.height)
      throw new Error(
        `height ${wanted} must be less than or equal to the current blockchain height ${newest.header.height}`,
      )
    const found = chain.block(wanted)
    if (!found) throw new Error(`height ${wanted} is not available, lowest height is ${chain.baseHeight()}`)
    return found
  }

  function blockOfHash(hash: Uint8Array): Block | undefined {
    const text = Buffer.from(hash).toString('hex').toUpperCase()
    for (let height = chain.latest().header.height; height >= chain.baseHeight(); height--)
      if (chain.block(height)?.hash === text) return chain.block(height)
    return undefined
  }
}
