import { TxResponse } from 'cosmjs-types/cosmos/base/abci/v1beta1/abci'
import { ConfigResponse, StatusResponse } from 'cosmjs-types/cosmos/base/node/v1beta1/query'
import {
  GetTxRequest,
  GetTxResponse,
  SimulateRequest,
  SimulateResponse,
} from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { TxMsgData } from 'cosmjs-types/cosmos/base/abci/v1beta1/abci'
import { AbciError, sdkError } from '../app/errors'
import { goTime, timestampOf } from '../app/time'
import { type Chain } from './chain'
import { grpcError } from './grpc'
import { type IndexedTx } from './index-of-txs'
import { stateQueries } from './queries'

export const APP_NAME = 'tollgate-devnet'
/** `pruning_keep_recent` and `pruning_interval`, which cosmjs-types does not know: both `0`. */
const NO_PRUNING = [0x12, 1, 0x30, 0x1a, 1, 0x30]

export type QueryAnswer = {
  code: number
  codespace: string
  log: string
  value: Uint8Array
  height: number
}

/** `height` 0 is the latest height. An error is a response with a code, as from a node. */
export function createAbciQuery(chain: Chain) {
  const nodeQueries: Readonly<Record<string, (request: Uint8Array) => Uint8Array>> = {
    '/cosmos.tx.v1beta1.Service/Simulate': simulate,
    '/cosmos.tx.v1beta1.Service/GetTx': getTx,
    '/cosmos.base.node.v1beta1.Service/Config': () =>
      Uint8Array.from([
        ...ConfigResponse.encode(
          ConfigResponse.fromPartial({ minimumGasPrice: minimumGasPriceText(chain) }),
        ).finish(),
        ...NO_PRUNING,
      ]),
    '/cosmos.base.node.v1beta1.Service/Status'() {
      const { header } = chain.latest()
      return StatusResponse.encode(
        StatusResponse.fromPartial({
          earliestStoreHeight: BigInt(chain.baseHeight()),
          height: BigInt(header.height),
          timestamp: timestampOf(header.time),
          appHash: Buffer.from(header.appHash, 'hex'),
        }),
      ).finish()
    },
  }

  return function abciQuery(path: string, data: Uint8Array, wantedHeight: number): QueryAnswer {
    const newest = chain.isAwaitingFirstBlock() ? 0 : chain.latest().header.height
    const height = wantedHeight === 0 ? newest : wantedHeight
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
    const ofNode = chain.hasServices() ? nodeQueries[path] : undefined
    const ofState = stateQueries[path]
    if (!ofNode && !ofState) throw unknownPath(path)
    if (height < 0)
      throw sdkError('invalid request', 'cannot query with height < 0; please provide a valid height')
    if (chain.isAwaitingFirstBlock())
      throw sdkError('invalid height', `${APP_NAME} is not ready; please wait for first block`)
    const newest = chain.latest().header.height
    if (height > newest)
      throw sdkError(
        'invalid height',
        'cannot query with height in the future; please provide a valid height',
      )
    const state = chain.stateAt(height)
    if (!state)
      throw sdkError('not found', `failed to load state at height ${height}; (latest height: ${newest})`)
    return ofNode ? ofNode(data) : (ofState?.(state, data) ?? new Uint8Array())
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
        result: { data, log, msgResponses, events: told(events) },
      }),
    ).finish()
  }

  function getTx(request: Uint8Array) {
    const { hash } = GetTxRequest.decode(request)
    if (hash === '') throw grpcError('InvalidArgument', 'tx hash cannot be empty')
    const found = chain.index.get(hash)
    if (!found) throw grpcError('NotFound', `tx not found: ${hash}`)
    const { bodyBytes, authInfoBytes, signatures } = TxRaw.decode(found.bytes)
    const tx = { body: TxBody.decode(bodyBytes), authInfo: AuthInfo.decode(authInfoBytes), signatures }
    return GetTxResponse.encode({ tx, txResponse: txResponse(found) }).finish()
  }

  function txResponse({ hash, height, bytes, result }: IndexedTx): TxResponse {
    const time = chain.block(height)?.header.time ?? 0
    return TxResponse.fromPartial({
      height: BigInt(height),
      txhash: hash,
      codespace: result.codespace,
      code: result.code,
      data: Buffer.from(result.data).toString('hex').toUpperCase(),
      rawLog: result.log,
      gasWanted: result.gasWanted,
      gasUsed: result.gasUsed,
      tx: { typeUrl: '/cosmos.tx.v1beta1.Tx', value: bytes },
      timestamp: goTime(timestampOf(time)),
      events: told(result.events),
    })
  }
}

function unknownPath(path: string) {
  const parts = path.replace(/^\//, '').split('/')
  if (path === '') return sdkError('unknown request', 'no query path provided')
  if (parts[0] === 'app') return sdkError('unknown request', `unknown query: [${parts.join(' ')}]`)
  return sdkError('unknown request', 'unknown query path')
}

/** With 18 decimals: `0.025000000000000000uatom`. */
export function minimumGasPriceText(chain: Chain): string {
  const { denom, price } = chain.minimumGasPrice()
  const digits = price.toString().padStart(19, '0')
  return `${digits.slice(0, -18)}.${digits.slice(-18)}${denom}`
}

const told = (events: IndexedTx['result']['events']) =>
  events.map(({ type, attributes }) => ({
    type,
    attributes: attributes.map(({ key, value }) => ({ key, value, index: true })),
  }))
