import { encodeJson, RpcRequest } from '@tollgate/protocol'
import { addressKey, ApiError, forgetBody, parse, rawMember, releaseBody, requestId } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { pipeline } from 'node:stream/promises'
import { type Session } from '../auth/sessions'
import { parsePaymentHeader } from '../payments/payment-header'
import { assertPayload } from './assert-payload'
import { billOf } from './bill'
import { callKindOf } from './call-kind'
import { type CallRequest, type CallResponse, type PaidCall } from './paid-call'
import { outlineOf } from './request-outline'
import { assertResourcePath } from './resource-path'
import { rpcMethodsOf } from './rpc-methods'
import { type Answer } from './upstream/upstream-exchange'

/** Limit of the payload of a GET, which becomes a query string: servers reject longer ones, and encoding 1 MiB takes 0.1 s. */
const MAX_QUERY_BYTES = 16_384

export const createRpcHandlers = (paidCall: PaidCall) => ({
  call(req: Request, res: Response, session: Session) {
    const { releasePayload, ...parsed } = parseCall(req)
    return paidCall(
      {
        ...parsed,
        buyer: { session, address: addressKey(req), requestId: requestId(req) },
        parsePayment: () => parsePaymentHeader(req),
      },
      createCallResponse(req, res, releasePayload),
    )
  },
})

/** Keeps only the payload's bytes: a parsed body can be 20 times as large, and stays in memory as long as the upstream takes. */
function parseCall(
  req: Request,
): Pick<CallRequest, 'call' | 'bill' | 'outgoing'> & { releasePayload: () => void } {
  const body = parse(RpcRequest, outlineOf(req.body))
  const { ecosystem, chain_id: chainId, transport, method, resource } = body
  assertResourcePath(resource)
  assertPayload(body)
  let payload = Buffer.from(rawMember(req, 'payload') ?? '')
  if (method === 'GET' && payload.length > MAX_QUERY_BYTES)
    throw new ApiError(
      'INVALID_REQUEST',
      `payload: a GET carries at most ${MAX_QUERY_BYTES} bytes; send it by POST`,
    )
  const call = { ecosystem, chainId, transport, method, resource, rpcMethod: rpcMethodsOf(body)[0] ?? null }
  const outgoing = {
    resource,
    method,
    transport,
    kind: callKindOf(body),
    payload: () => payload,
    accept: req.get('accept'),
    acceptEncoding: req.get('accept-encoding'),
  }
  forgetBody(req)
  return { call, bill: billOf(body), outgoing, releasePayload: () => void (payload = NO_PAYLOAD) }
}

const NO_PAYLOAD = Buffer.alloc(0)

const createCallResponse = (req: Request, res: Response, releasePayload: () => void): CallResponse => ({
  setHeaders: (headers) => void res.set(headers),
  requirePayment(body, offer) {
    res
      .status(402)
      .set({ 'Cache-Control': 'no-store', 'PAYMENT-REQUIRED': encodeJson(offer) })
      .json(body)
  },
  abortOnClose: () => abortOnClose(res),
  releaseRequestBody() {
    releasePayload()
    releaseBody(req)
  },
  send: (answer) => send(res, answer),
})

function abortOnClose(res: Response): AbortSignal {
  const controller = new AbortController()
  if (res.closed) controller.abort()
  else
    res.once('close', () => {
      if (!res.writableFinished) controller.abort()
    })
  return controller.signal
}

/** If the upstream cuts off a streamed answer, the client's connection is cut too, so it cannot mistake a part for the whole. */
async function send(res: Response, { status, headers, body, rest }: Answer): Promise<'sent' | 'cut_off'> {
  res.status(status)
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value)
  if (!rest) {
    if (status !== 204 && status !== 304) res.setHeader('Content-Length', body.length)
    res.end(body)
    return 'sent'
  }
  let isCutOff = rest.errored !== null && !res.closed
  // A disconnect of the client also fails the stream.
  rest.once('error', () => (isCutOff = !res.closed))
  res.write(body)
  await pipeline(rest, res).catch(() => res.destroy())
  return isCutOff ? 'cut_off' : 'sent'
}
