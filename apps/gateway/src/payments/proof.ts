import { PaymentPayload, decodeJson } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Request } from 'express'
import { z } from 'zod'

/** What a caller hands over as payment. Of the outer members only those are there that the caller's form has. */
export type Proof = Pick<PaymentPayload, 'payload'> & Partial<Omit<PaymentPayload, 'payload'>>

const MAX_PROOF_LENGTH = 12_288

const Authorization = z.object({ signature: z.string(), authorization: z.record(z.string(), z.unknown()) })
const Wrapped = z.object({ paymentPayload: PaymentPayload })
const Typed = z.object({ type: z.string(), eip3009: z.record(z.string(), z.unknown()) })

/**
 * The payment proof in `X-PAYMENT`, in any of the forms that wallets send: the x402 version 1 payload in base64,
 * base64url or as JSON; `{signature, authorization}` alone; `{paymentPayload, paymentRequirements}`, whose requirements
 * are not believed and so not read; `{type, eip3009}`. Undefined where there is no such header.
 *
 * @throws ApiError INVALID_REQUEST where there are two proofs, or one that is none of these
 */
export function readProof(req: Request): Proof | undefined {
  const proofs = [...new Set(req.headersDistinct['x-payment'] ?? [])]
  if (proofs.length > 1) throw refused('holds two payments; send one')
  const [text] = proofs
  if (text === undefined || text === '') return undefined
  if (text.length > MAX_PROOF_LENGTH) throw refused('is too long to be a payment')
  const proof = parseProof(text.trimStart().startsWith('{') ? parseJson(text) : decodeJson(text))
  if (!proof) throw refused('is no payment; send the base64 of an x402 version 1 payload')
  return proof
}

function parseProof(value: unknown): Proof | undefined {
  const whole = PaymentPayload.safeParse(value)
  if (whole.success) return whole.data
  const wrapped = Wrapped.safeParse(value)
  if (wrapped.success) return wrapped.data.paymentPayload
  const authorization = Authorization.safeParse(value)
  if (authorization.success) return { payload: authorization.data }
  const typed = Typed.safeParse(value)
  if (typed.success) return { payload: typed.data.eip3009 }
  return undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const refused = (problem: string) => new ApiError('INVALID_REQUEST', `X-PAYMENT ${problem}`)
