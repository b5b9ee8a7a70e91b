import { type PaymentChoice, type PaymentRequired, type PaymentRequiredV2 } from '@tollgate/protocol'
import { releaseBody } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sendPaymentRequired } from '../payments/payment-response'
import { type CallResponse } from './call'
import { type Answer } from './upstream/upstream-exchange'
import { type UpstreamRequest } from './upstream/upstream-request'

const NO_PAYLOAD = Buffer.alloc(0)

/** A class, because every paid call makes one. */
export class HttpCallResponse implements CallResponse {
  constructor(
    private readonly req: Request,
    private readonly res: Response,
    /** Undefined for an answer that is not forwarded. */
    private readonly outgoing: UpstreamRequest | undefined,
  ) {}

  setHeaders(headers: Record<string, string>) {
    for (const name in headers) this.res.setHeader(name, headers[name] ?? '')
  }

  requirePayment(body: PaymentRequired | PaymentChoice, offer: PaymentRequiredV2) {
    sendPaymentRequired(this.res, body, offer)
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
    if (this.outgoing) this.outgoing.payload = NO_PAYLOAD
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
