import { PaymentPayload, decodeJson, parseJson } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Request } from 'express'
import { z } from 'zod'

/** What a caller hands over as payment. Of the outer members only those are there that the caller's form has. */
export type Proof = Pick<PaymentPayload, 'payload'> & Partial<Omit<PaymentPayload, 'payload'>>

export const MAX_PROOF_LENGTH = 12_288

const Members = z.record(z.string(), z.unknown())
/** Which of these it has says what was signed; both at once is nothing. */
const Signed = z.object({
  signature: z.string(),
  authorization: Members.optional(),
  permit2Authorization: Members.optional(),
  eip2612GasSponsoring: Members.optional(),
})
const Wrapped = z.object({ paymentPayload: PaymentPayload })
const Typed = z.union([
  z.object({ type: z.literal('permit2'), permit2: Members }).transform(({ permit2 }) => permit2),
  z.object({ type: z.string(), eip3009: Members }).transform(({ eip3009 }) => eip3009),
])
const SignedTransaction = z.object({ type: z.string(), rawTx: z.string() })
const rawTransaction = /^0x(?:[0-9a-f]{2})+$/i

/**
 * The payment proof in `X-PAYMENT`, in any of the forms that wallets send: the x402 version 1 payload in base64,
 * base64url or as JSON; `{signature, authorization}` or `{signature, permit2Authorization}` alone;
 * `{paymentPayload, paymentRequirements}`, whose requirements are not believed and so not read; `{type, eip3009}`,
 * `{type, permit2}` and `{type, rawTx}`; the hex of a raw signed transaction. Undefined where there is no such header.
 *
 * @throws ApiError INVALID_REQUEST where there are two proofs, or one that is none of these
 */
export function readProof(req: Request): Proof | undefined {
  const proofs = [...new Set(req.headersDistinct['x-payment'] ?? [])]
  if (proofs.length > 1) throw refused('holds two payments; send one')
  const [text] = proofs
  if (text === undefined || text === '') return undefined
  if (text.length > MAX_PROOF_LENGTH) throw refused('is too long to be a payment')
  const proof = rawTransaction.test(text)
    ? paidBy(text)
    : parseProof(text.trimStart().startsWith('{') ? tryJson(text) : decodeJson(text))
  if (!proof) throw refused('is no payment; send the base64 of an x402 version 1 payload')
  if (!isShallow(proof)) throw refused('is nested deeper than any payment')
  if (unwritable.test(JSON.stringify(proof))) throw refused('holds text that is not Unicode, or a NUL')
  return proof
}

/** Every writer behind us is recursive. */
const isShallow = (value: unknown, levels = 32): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1)))

/** How JSON spells what Postgres does not take in a `jsonb`: NUL, and halves of characters. */
const unwritable = /\\u(?:0000|d[89a-f][0-9a-f]{2})/

function parseProof(value: unknown): Proof | undefined {
  const whole = PaymentPayload.safeParse(value)
  if (whole.success) return whole.data
  const wrapped = Wrapped.safeParse(value)
  if (wrapped.success) return wrapped.data.paymentPayload
  const signed = Signed.safeParse(value)
  if (signed.success) return { payload: signed.data }
  const typed = Typed.safeParse(value)
  if (typed.success) return { payload: typed.data }
  const transaction = SignedTransaction.safeParse(value)
  return transaction.success ? paidBy(transaction.data.rawTx) : undefined
}

const paidBy = (rawTx: string): Proof => ({ payload: { type: 'raw_tx', rawTx } })

function tryJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

const refused = (problem: string) => new ApiError('INVALID_REQUEST', `X-PAYMENT ${problem}`)
