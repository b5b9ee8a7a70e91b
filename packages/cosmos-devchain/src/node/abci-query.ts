import { TxMsgData } from 'cosmjs-types/cosmos/base/abci/v1beta1/abci'
import { ConfigResponse } from 'cosmjs-types/cosmos/base/node/v1beta1/query'
import { SimulateRequest, SimulateResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { AbciError, sdkError } from '../app/errors'
import { type Chain } from './chain'
import { grpcError } from './grpc'
import { stateQueries } from './queries'
import { eventsAnswer } from './responses'

export type QueryAnswer = {
  code: number
  codespace: string
  log: string
  value: Uint8Array
  height: number
}

const PRICE_UNIT = 10n ** 18n

/** `height` 0 is the latest height. An error is a response with a code, as from a node. */
export function createAbciQuery(chain: Chain) {
  const services: Readonly<Record<string, (request: Uint8Array) => Uint8Array>> = {
    '/cosmos.tx.v1beta1.Service/Simulate': simulate,
    '/cosmos.base.node.v1beta1.Service/Config': config,
  }

  return function abciQuery(path: string, data: Uint8Array, wantedHeight: number): QueryAnswer {
    const height = wantedHeight === 0 ? chain.latest().header.height : wantedHeight
    try {
      const value = answer(path, data, height)
      return { code: 0, codespace: '', log: '', value, height }
    } catch (problem) {
      // Any other error means that the request cannot be decoded.
      const { code, codespace, message } =
        problem instanceof AbciError ? problem : sdkError('invalid request', 'unexpected EOF')
      return { code, codespace, log: message, value: new Uint8Array(), height }
    }
  }

  function answer(path: string, data: Uint8Array, height: number) {
    if (path === '/cosmos.tx.v1beta1.Service/BroadcastTx')
      throw sdkError('invalid request', "can't route a broadcast tx message")
    const service = chain.hasServices() ? services[path] : undefined
    const query = stateQueries[path]
    if (!service && !query) throw unknownPath(path)
    if (height < 0)
      throw sdkError('invalid request', 'cannot query with height < 0; please provide a valid height')
    const newest = chain.latest().header.height
    if (height > newest)
      throw sdkError(
        'invalid height',
        'cannot query with height in the future; please provide a valid height',
      )
    const state = chain.stateAt(height)
    if (!state)
      throw sdkError('not found', `failed to load state at height ${height}; (latest height: ${newest})`)
    return service ? service(data) : (query?.(state, data) ?? new Uint8Array())
  }

  function config() {
    const { denom, price } = chain.minimumGasPrice()
    const [whole, fraction] = [price / PRICE_UNIT, `${price % PRICE_UNIT}`.padStart(18, '0')]
    return ConfigResponse.encode(
      ConfigResponse.fromPartial({
        minimumGasPrice: price > 0n ? `${whole}.${fraction}${denom}` : '',
        pruningKeepRecent: '0',
        pruningInterval: '0',
      }),
    ).finish()
  }

  function simulate(request: Uint8Array) {
    const { txBytes: bytes } = SimulateRequest.decode(request)
    if (bytes.length === 0) throw grpcError('InvalidArgument', 'empty txBytes is not allowed')
    const { code, log, data, gasUsed, gasWanted, events } = chain.mempool.simulate(bytes)
    if (code !== 0) throw grpcError('Unknown', `${log} with gas used: '${gasUsed}'`)
    const { msgResponses } = TxMsgData.decode(data)
    return SimulateResponse.encode(
      SimulateResponse.fromPartial({
        gasInfo: { gasWanted, gasUsed: (gasUsed * chain.simulatedPercent()) / 100n },
        result: { data, log, msgResponses, events: eventsAnswer(events) },
      }),
    ).finish()
  }
}

function unknownPath(path: string) {
  const parts = path.replace(/^\//, '').split('/')
  if (path === '') return sdkError('unknown request', 'no query path provided')
  if (parts[0] === 'app') return sdkError('unknown request', `unknown query: [${parts.join(' ')}]`)
  return sdkError('unknown request', 'unknown query path')
}
