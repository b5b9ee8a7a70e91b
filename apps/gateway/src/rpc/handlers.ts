import { encodeJson, RpcRequest, type PaymentRequired, type PaymentRequiredV2 } from '@tollgate/protocol'
import { addressKey, ApiError, forgetBody, parse, rawMember, releaseBody, requestId } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Session } from '../auth/sessions'
import { parsePaymentHeader } from '../payments/payment-header'
import { assertPayload } from './assert-payload'
import { billOf } from './bill'
import { callKindOf } from './call-kind'
import { type CallRequest, type CallResponse, type PaidCall } from './paid-call'
import { outlineOf } from './request-outline'
import { assertResourcePath } from './resource-path'
import { rpcMethodOf } from './rpc-methods'
import { type Answer } from './upstream/upstream-exchange'
import { type UpstreamRequest } from './upstream/upstream-request'

/** Limit of the payload of a GET, which becomes a query string: servers reject longer ones, and encoding 1 MiB takes 0.1 s. */
const MAX_QUERY_BYTES = 16_384

export const createRpcHandlers = (paidCall: PaidCall) => ({
  call(req: Request, res: Response, session: Session) {
    const call = parseCall(req, session)
    return paidCall(call, new HttpCallResponse(req, res, call.outgoing))
  },
})

/** Keeps only the payload's bytes: a parsed body can be 20 times as large, and stays in memory as long as the upstream takes. */
function parseCall(req: Request, session: Session): CallRequest {
  const body = parse(RpcRequest, outlineOf(req.body))
  const { ecosystem, chain_id: chainId, transport, method, resource } = body
  assertResourcePath(resource)
  assertPayload(body)
  const payload = Buffer.from(rawMember(req, 'payload') ?? '')
  if (method === 'GET' && payload.length > MAX_QUERY_BYTES)
    throw new ApiError(
      'INVALID_REQUEST',
      `payload: a GET carries at most ${MAX_QUERY_BYTES} bytes; send it by POST`,
    )
  const { accept, 'accept-encoding': acceptEncoding } = req.headers
  forgetBody(req)
  return {
    call: { ecosystem, chainId, transport, method, resource, rpcMethod: rpcMethodOf(body) },
    bill: billOf(body),
    outgoing: { resource, method, transport, kind: callKindOf(body), payload, accept, acceptEncoding },
    session,
    buyer: () => ({ session, address: addressKey(req), requestId: requestId(req) }),
    parsePayment: () => parsePaymentHeader(req),
  }
}

const NO_PAYLOAD = Buffer.alloc(0)

/** A class, because every paid call makes one. */
class HttpCallResponse implements CallResponse {
  constructor(
    private readonly req: Request,
    private readonly res: Response,
    private readonly outgoing: UpstreamRequest,
  ) {}

  setHeaders(headers: Record<string, string>) {
    for (const name in headers) this.res.setHeader(name, headers[name] ?? '')
  }

  requirePayment(body: PaymentRequired, offer: PaymentRequiredV2) {
    this.res
      .status(402)
      .set({ 'Cache-Control': 'no-store', 'PAYMENT-REQUIRED': encodeJson(offer) })
      .json(body)
  }

  hasLeft(): boolean {
    return this.res.closed && !this.res.writableFinished
  }

  onLeave(listener: () => void) {
    const { res } = this
    const onClose = () => {
      if (!res.writableFinished) listener()
    }
    res.once('close', onClose)
    return () => void res.off('close', onClose)
  }

  releaseRequestBody() {
    this.outgoing.payload = NO_PAYLOAD
    releaseBody(this.req)
  }

  send(answer: Answer) {
    return answer.rest ? sendStream(this.res, answer, answer.rest) : sendWhole(this.res, answer)
  }
}

const MAX_JOINED_BYTES = 4_096

const SENT = Promise.resolve('sent' as const)

function sendWhole(res: Response, answer: Answer): Promise<'sent'> {
  const { status, body } = answer
  setHead(res, answer)
  if (status !== 204 && status !== 304) res.setHeader('Content-Length', body.length)
  // A small body goes into one write with the head; `latin1` keeps each byte.
  if (body.length <= MAX_JOINED_BYTES) res.end(body.toString('latin1'), 'latin1')
  else res.end(body)
  return SENT
}

/** If the upstream cuts off a streamed answer, the client's connection is cut too, so it cannot mistake a part for the whole. */
async function sendStream(res: Response, answer: Answer, rest: Readable): Promise<'sent' | 'cut_off'> {
  setHead(res, answer)
  let isCutOff = rest.errored !== null && !res.closed
  // A disconnect of the client also fails the stream.
  rest.once('error', () => (isCutOff = !res.closed))
  res.write(answer.body)
  await pipeline(rest, res).catch(() => res.destroy())
  return isCutOff ? 'cut_off' : 'sent'
}

function setHead(res: Response, { status, headers }: Answer) {
  res.statusCode = status
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) res.setHeader(name, value)
  }
}
