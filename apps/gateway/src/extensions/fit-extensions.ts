import { type PaymentRequiredV2 } from '@tollgate/protocol'
import { type Extensions } from './extension'

/** Clients take at least 8 KiB of headers; with the others of a 402 this stays below 6 KiB. */
const MAX_REQUIRED_LENGTH = 5_100
/** What the client returns with each payment, beside what it signed and the entry that it chose. */
const MAX_RETURNED_LENGTH = 2_800

/** What a client can do without comes first. */
const dispensable = ['offer-receipt', 'bazaar', 'payment-identifier', 'sign-in-with-x']

/**
 * Adds extensions to a 402, but those that would make its header too long for clients, or the header of the payment, in which
 * clients return all of them.
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

const fits = (required: PaymentRequiredV2): boolean =>
  encodedLength(required) <= MAX_REQUIRED_LENGTH &&
  encodedLength({ extensions: required.extensions, resource: required.resource }) <= MAX_RETURNED_LENGTH

/** In base64. */
export const encodedLength = (value: unknown) => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3) * 4
