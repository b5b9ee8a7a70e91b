import { type PaymentRequiredV2 } from '@tollgate/protocol'
import { MAX_PAYMENT_HEADER_LENGTH } from '../payments/payment-header'
import { type Extensions } from './extension'

/** Leaves a quarter of the 16 KiB, which HTTP clients take, for the other headers. */
const MAX_REQUIRED_LENGTH = 12_288
/** Enough for a Permit2 transfer with a permit, and for a Cosmos transaction. */
const SIGNED_PAYLOAD_LENGTH = 3_072

/** What a client can do without comes first. */
const dispensable = ['offer-receipt', 'bazaar', 'payment-identifier', 'sign-in-with-x']

/**
 * Adds extensions to a 402, but those that would make its header too long for clients, or the header of the payment, in which
 * clients return all of them, too long for us.
 */
export function fitExtensions(required: PaymentRequiredV2, extensions: Extensions): PaymentRequiredV2 {
  for (let omitted = 0; omitted <= dispensable.length; omitted++) {
    const omittedNames = dispensable.slice(0, omitted)
    const kept = Object.entries(extensions).filter(([name]) => !omittedNames.includes(name))
    if (kept.length === 0) break
    const fitted = { ...required, extensions: Object.fromEntries(kept) }
    if (fits(fitted)) return fitted
  }
  return required
}

function fits({ extensions, resource, accepts, ...rest }: PaymentRequiredV2): boolean {
  const returned = Math.max(...accepts.map((accepted) => encodedLength({ extensions, resource, accepted })))
  return (
    encodedLength({ ...rest, extensions, resource, accepts }) <= MAX_REQUIRED_LENGTH &&
    returned + SIGNED_PAYLOAD_LENGTH <= MAX_PAYMENT_HEADER_LENGTH
  )
}

/** In base64. */
const encodedLength = (value: unknown) => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3) * 4
