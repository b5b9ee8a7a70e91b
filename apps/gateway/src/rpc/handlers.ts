import { RpcRequest } from '@tollgate/protocol'
import { addressKey, ApiError, forgetBody, parse, rawMember, requestId, spanOf } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Session } from '../auth/sessions'
import { type Catalog } from '../catalog/catalog'
import { parsePaymentHeader } from '../payments/payment-header'
import { assertPayload } from './assert-payload'
import { billOf } from './bill'
import { type CallRequest } from './call'
import { callKindOf } from './call-kind'
import { HttpCallResponse } from './http-call-response'
import { nodeHeadersOf } from './node-headers'
import { type PaidCall } from './paid-call'
import { outlineOf } from './request-outline'
import { assertResourcePath } from './resource-path'
import { isObject, rpcMethodOf } from './rpc-methods'

/** Limit of the payload of a GET, which becomes a query string: servers reject longer ones, and encoding 1 MiB takes 0.1 s. */
const MAX_QUERY_BYTES = 16_384

export function createRpcHandlers(
  paidCall: PaidCall,
  catalog: Pick<Catalog, 'readChains'>,
  resource: string,
) {
  return {
    async call(req: Request, res: Response, session: Session) {
      const body = parseCall(req.body)
      const chains = await catalog.readChains()
      const chainId = chains.findIn(body.ecosystem, body.chain_id)?.chainId ?? body.chain_id
      const call = callOf(req, { ...body, chain_id: chainId }, session)
      return paidCall({ ...call, resource }, new HttpCallResponse(req, res, call.outgoing))
    },
  }
}

function parseCall(body: unknown): RpcRequest {
  try {
    return parse(RpcRequest, outlineOf(body))
  } catch (error) {
    if (!(error instanceof ApiError) || !isJsonRpc(body)) throw error
    throw new ApiError(error.code, `${error.message}; send plain JSON-RPC to POST /v1/{chain}`)
  }
}

const isJsonRpc = (body: unknown): boolean =>
  [body].flat().some((entry) => isObject(entry) && entry['jsonrpc'] !== undefined)

/** Keeps only the payload's bytes: a parsed body can be 20 times as large, and stays in memory as long as the upstream takes. */
function callOf(req: Request, body: RpcRequest, session: Session): Omit<CallRequest, 'resource'> {
  const { ecosystem, chain_id: chainId, transport, method, resource } = body
  assertResourcePath(resource)
  assertPayload(body)
  const payload = Buffer.from(rawMember(req, 'payload') ?? '')
  if (method === 'GET' && payload.length > MAX_QUERY_BYTES)
    throw new ApiError(
      'INVALID_REQUEST',
      `payload: a GET carries at most ${MAX_QUERY_BYTES} bytes; send it by POST`,
    )
  const nodeHeaders = nodeHeadersOf(req.headers, ecosystem)
  forgetBody(req)
  return {
    call: { ecosystem, chainId, transport, method, resource, rpcMethod: rpcMethodOf(body) },
    bill: billOf(body),
    outgoing: { resource, method, transport, kind: callKindOf(body), payload, ...nodeHeaders },
    credentials: { kind: 'session', session },
    client: () => ({ address: addressKey(req), requestId: requestId(req) }),
    span: spanOf(req),
    parsePayment: () => parsePaymentHeader(req),
  }
}
