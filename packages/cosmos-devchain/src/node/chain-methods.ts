import { createAbciQuery } from './abci-query'
import { method, type Method } from './arguments'
import { type Block } from './block'
import { type Chain } from './chain'
import { blockAnswer, blockMetaAnswer, statusAnswer } from './responses'

const MOST_HEADERS = 20

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

/** CometBFT's JSON-RPC methods for blocks and state. An error that a method throws becomes an internal error (-32603) with its message as data. */
export function createChainMethods(chain: Chain, listenAddress: string): Readonly<Record<string, Method>> {
  const abciQuery = createAbciQuery(chain)

  return {
    health: method({}, () => ({})),
    status: method({}, () => statusAnswer(chain, listenAddress)),
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
}
