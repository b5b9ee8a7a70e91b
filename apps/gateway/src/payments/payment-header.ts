import { PaymentPayload, PaymentPayloadV2, decodeJson, parseJson, signedPayloadOf } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Request } from 'express'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

/** `accepted` and `extensions` are of x402 version 2, the other outer members of version 1. */
export type PaymentHeader = Pick<PaymentPayload, 'payload'> &
  Partial<Omit<PaymentPayload, 'payload'>> &
  Partial<Pick<PaymentPayloadV2, 'accepted' | 'extensions'>>

/** Room for the signatures of a Safe with ten owners, or of two passkeys. */
export const MAX_PAYMENT_HEADER_LENGTH = 20_480
/** All headers of a request: a payment and those that clients and proxies add. */
export const MAX_HEADER_BYTES = MAX_PAYMENT_HEADER_LENGTH + 4_096

/** Of x402 version 1 and version 2; each accepts every form. */
const headers = ['X-PAYMENT', 'PAYMENT-SIGNATURE'] as const
type Header = (typeof headers)[number]
const names = headers.map((header) => header.toLowerCase())

const Members = z.record(z.string(), z.unknown())
const Accepted = PaymentPayloadV2.transform(({ payload, accepted, extensions }) => ({
  payload: signedPayloadOf({ payload, extensions }),
  accepted,
  ...(extensions ? { extensions } : {}),
}))
const Whole = z.union([Accepted, PaymentPayload])
const Wrapped = z.object({ paymentPayload: Whole }).transform(({ paymentPayload }) => paymentPayload)
const Typed = z
  .union([
    z.object({ type: z.literal('permit2'), permit2: Members }).transform(({ permit2 }) => permit2),
    z.object({ type: z.string(), eip3009: Members }).transform(({ eip3009 }) => eip3009),
    z.object({ type: z.string(), rawTx: z.string() }).transform(({ rawTx }) => transaction(rawTx)),
  ])
  .transform((payload) => ({ payload }))
const Bare = Members.transform((payload) => ({ payload }))
const Form = z.union([Whole, Wrapped, Typed, Bare])

const transaction = (rawTx: string) => ({ type: 'raw_tx', rawTx })
const RAW_TRANSACTION = /^0x(?:[0-9a-f]{2})+$/i

/**
 * Reads `X-PAYMENT` or `PAYMENT-SIGNATURE` in the forms that wallets send: the x402 payload of version 1 or 2 in base64,
 * base64url or JSON; its `payload` alone; `{paymentPayload, paymentRequirements}`, whose requirements are ignored; `{type,
 * eip3009}`, `{type, permit2}` and `{type, rawTx}`; the hex of a raw signed transaction.
 *
 * @throws ApiError INVALID_REQUEST for two different payments, or another form
 */
export function parsePaymentHeader(req: Request): PaymentHeader | undefined {
  if (!names.some((name) => name in req.headers)) return undefined
  const proofs = headers.flatMap((header) => readHeader(req, header) ?? [])
  const [first, second] = proofs
  if (first && second && !isDeepStrictEqual(first.payload, second.payload))
    throw new ApiError('INVALID_REQUEST', `${headers.join(' and ')} hold two payments; send one`)
  return proofs.find(({ accepted }) => accepted) ?? first
}

function readHeader(req: Request, header: Header): PaymentHeader | undefined {
  const refused = (reason: string) => new ApiError('INVALID_REQUEST', `${header} ${reason}`)
  const texts = [...new Set(req.headersDistinct[header.toLowerCase()] ?? [])]
  if (texts.length > 1) throw refused('holds two payments; send one')
  const [text] = texts
  if (text === undefined || text === '') return undefined
  if (text.length > MAX_PAYMENT_HEADER_LENGTH) throw refused('is too long to be a payment')
  const proof = parseProof(text)
  if (!proof) throw refused('is no payment; send the base64 of an x402 payload')
  if (!isWithinDepth(proof)) throw refused('is nested deeper than any payment')
  if (UNSTORABLE.test(JSON.stringify(proof))) throw refused('holds text that is not Unicode, or a NUL')
  return proof
}

/** The serializers that take the payment are recursive. */
const isWithinDepth = (value: unknown, maxDepth = 32): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (maxDepth > 0 && Object.values(value).every((member) => isWithinDepth(member, maxDepth - 1)))

/** JSON escapes that Postgres rejects in `jsonb`: NUL and lone surrogates. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/

function parseProof(text: string): PaymentHeader | undefined {
  if (RAW_TRANSACTION.test(text)) return { payload: transaction(text) }
  return Form.safeParse(text.trimStart().startsWith('{') ? tryJson(text) : decodeJson(text)).data
}

function tryJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
