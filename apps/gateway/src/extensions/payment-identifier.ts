import { type PaymentPayloadV2 } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Extensions } from './extension'

const PAYMENT_IDENTIFIER = 'payment-identifier'
const MIN_LENGTH = 16
const MAX_LENGTH = 128
const CHARACTERS = '^[a-zA-Z0-9_-]+$'

export const paymentIdentifier: Extensions = {
  [PAYMENT_IDENTIFIER]: {
    info: { required: false },
    schema: {
      type: 'object',
      properties: { id: { type: 'string', pattern: `^[a-zA-Z0-9_-]{${MIN_LENGTH},${MAX_LENGTH}}$` } },
      required: ['required'],
    },
  },
}

const PaymentId = z.string().min(MIN_LENGTH).max(MAX_LENGTH).regex(new RegExp(CHARACTERS))
const Echo = z.object({ info: z.object({ id: PaymentId.optional() }) }).optional()

/** Undefined if the client chose none: it then returns the declaration unchanged. @throws ApiError INVALID_REQUEST */
export function parsePaymentId(extensions: PaymentPayloadV2['extensions']): string | undefined {
  const { success, data } = Echo.safeParse(extensions?.[PAYMENT_IDENTIFIER])
  if (!success)
    throw new ApiError(
      'INVALID_REQUEST',
      `extensions.${PAYMENT_IDENTIFIER}: info.id must have ${MIN_LENGTH} to ${MAX_LENGTH} letters, digits, hyphens and underscores`,
    )
  return data?.info.id
}

/** What the client asks for and how it pays. `body`: its bytes, empty for a GET. */
export type IdentifiedRequest = {
  method: string
  /** Path and query, such as `/v1/base-sepolia`. */
  path: string
  body: string | Uint8Array
  payment: Pick<PaymentPayloadV2, 'payload'> & Partial<Pick<PaymentPayloadV2, 'accepted'>>
}

/**
 * SHA-256 in hex of request and payment. A repeat of both has the same fingerprint, whatever the order of the payment's
 * members. `extensions` do not count: the client returns a challenge in them that differs in each 402.
 */
export function fingerprintOf({ method, path, body, payment }: IdentifiedRequest): string {
  const { payload, accepted } = payment
  const hash = createHash('sha256').update(JSON.stringify([method, path, sorted({ payload, accepted })]))
  return hash.update('\n').update(body).digest('hex')
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.toSorted(byName).map(([name, member]) => [name, sorted(member)]))
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

/** The identifier that a client gives to a payment, for one request. */
export type Identifier = { id: string; fingerprint: string }

/** One row for each payer and id: a stranger cannot use up another payer's ids. */
export type IdentifiedPayment = Identifier & { payer: string; paymentId: string }

/** `known`: the fingerprint that the payer's id has, if any. @throws ApiError CONFLICT */
export function assertRepeat(id: string, fingerprint: string, known: string | undefined): void {
  if (known !== undefined && known !== fingerprint) throw identifierTaken(id)
}

export const identifierTaken = (id: string) =>
  new ApiError(
    'CONFLICT',
    `The payment identifier ${id} is used for another request or payment; choose a new one, or repeat both unchanged`,
  )
