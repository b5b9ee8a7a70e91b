import { PageResponse, type PageRequest } from 'cosmjs-types/cosmos/base/query/v1beta1/pagination'
import { type AbciError, sdkError } from '../app/errors'

const descriptions = {
  InvalidArgument: 'invalid request',
  NotFound: 'key not found',
  Internal: 'unknown request',
  Unknown: 'unknown request',
} as const

/** A gRPC status as the SDK encodes it in an ABCI response. */
export function grpcError(code: keyof typeof descriptions, message: string): AbciError {
  return sdkError(descriptions[code], `rpc error: code = ${code} desc = ${message}`)
}

/** How a gRPC service returns an error without a gRPC status: a registered SDK error becomes an unknown request. */
export function passedOn({ codespace, message }: AbciError): AbciError {
  return sdkError(codespace === 'undefined' ? 'invalid request' : 'unknown request', message)
}

const USUAL_LIMIT = 100

export function pageOf<T>(all: readonly T[], request: PageRequest | undefined) {
  const key = Buffer.from(request?.key ?? []).toString()
  if (key !== '' && !/^\d{1,9}$/.test(key)) throw grpcError('InvalidArgument', 'paginate: invalid key')
  const start = key === '' ? Number(request?.offset ?? 0n) : Number(key)
  const limit = Number(request?.limit ?? 0n) || USUAL_LIMIT
  const ordered = request?.reverse ? all.toReversed() : all
  const end = start + limit
  const pagination = PageResponse.fromPartial({
    nextKey: end < all.length ? Buffer.from(String(end)) : new Uint8Array(),
    total: request?.countTotal || !request ? BigInt(all.length) : 0n,
  })
  return { page: ordered.slice(start, end), pagination }
}
