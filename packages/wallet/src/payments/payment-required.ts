import * as v from 'valibot'
import { decodeJson, encodeJson } from '../encoding.js'
import { type SignedPayment } from '../wallets/wallet.js'
import { type Offer } from './offer.js'

/** A 402 of either version of x402, as far as it can be read. */
export type PaymentRequired = {
  offers: Offer[]
  /** The reason code. */
  error: string | undefined
  /** By how many milliseconds this machine's clock was behind the server's when the answer came; 0 if that is not known. */
  clockSkew: number
  /** Of version 2: the URL that is paid for, and the extensions declared. */
  resource: unknown
  extensions: Record<string, unknown>
}

const Digits = v.pipe(v.string(), v.regex(/^(0|[1-9][0-9]{0,77})$/))
const Members = v.record(v.string(), v.unknown())
const terms = {
  scheme: v.string(),
  network: v.string(),
  asset: v.string(),
  payTo: v.string(),
  maxTimeoutSeconds: v.pipe(v.number(), v.integer(), v.minValue(1)),
  extra: v.nullish(Members),
}
const EntryV2 = v.looseObject({ ...terms, amount: Digits })
const EntryV1 = v.looseObject({ ...terms, maxAmountRequired: Digits })
const BodyV2 = v.looseObject({
  x402Version: v.literal(2),
  error: v.nullish(v.string()),
  resource: v.optional(v.unknown()),
  accepts: v.array(v.unknown()),
  extensions: v.nullish(Members),
})
const BodyV1 = v.looseObject({
  x402Version: v.literal(1),
  error: v.nullish(v.string()),
  accepts: v.array(v.unknown()),
})

/**
 * Reads the header `PAYMENT-REQUIRED` of version 2, else the body of version 1. Entries that cannot be read are left out, as are
 * those beyond the first fifty.
 * Undefined if the answer asks for no payment that x402 knows.
 */
export function parsePaymentRequired(
  { headers }: Pick<Response, 'headers'>,
  body: unknown,
  receivedAt: number,
): PaymentRequired | undefined {
  const clockSkew = (timeOf(headers) ?? receivedAt) - receivedAt
  const v2 = v.safeParse(BodyV2, decodeJson(headers.get('payment-required') ?? ''))
  if (v2.success) {
    const { accepts, error, resource, extensions } = v2.output
    const offers = accepts.slice(0, MAX_OFFERS).flatMap((entry) => offerV2(entry))
    return { offers, error: error ?? undefined, clockSkew, resource, extensions: extensions ?? {} }
  }
  const v1 = v.safeParse(BodyV1, body)
  if (!v1.success) return undefined
  const offers = v1.output.accepts.slice(0, MAX_OFFERS).flatMap((entry) => offerV1(entry))
  return { offers, error: v1.output.error ?? undefined, clockSkew, resource: undefined, extensions: {} }
}

/** What the server's clock says now, in Unix milliseconds; a page of another origin may not see it. */
export function timeOf(headers: Headers): number | undefined {
  // Of an answer from a cache, `Date` is older by `Age`.
  const time = Date.parse(headers.get('date') ?? '') + Number(headers.get('age') ?? 0) * 1000
  return Number.isNaN(time) ? undefined : time
}

/** Each is compared with the limits and the log. */
const MAX_OFFERS = 50

function offerV2(input: unknown): Offer[] {
  const parsed = v.safeParse(EntryV2, input)
  if (!parsed.success) return []
  const { scheme, network, asset, payTo, amount, maxTimeoutSeconds, extra } = parsed.output
  const fields = { scheme, network, asset, payTo, maxTimeoutSeconds, extra: extra ?? {} }
  return [{ x402Version: 2, ...fields, amount: BigInt(amount), entry: input as Record<string, unknown> }]
}

function offerV1(input: unknown): Offer[] {
  const parsed = v.safeParse(EntryV1, input)
  if (!parsed.success) return []
  const { scheme, network, asset, payTo, maxAmountRequired, maxTimeoutSeconds, extra } = parsed.output
  const chainId = chainIds[network]
  if (chainId === undefined) return []
  const fields = { scheme, network: `eip155:${chainId}`, asset, payTo, maxTimeoutSeconds, extra: extra ?? {} }
  return [
    { x402Version: 1, ...fields, amount: BigInt(maxAmountRequired), entry: input as Record<string, unknown> },
  ]
}

/** The networks of x402 version 1, by their names. */
const chainIds: Partial<Record<string, number>> = {
  abstract: 2741,
  'abstract-testnet': 11124,
  'base-sepolia': 84532,
  base: 8453,
  'avalanche-fuji': 43113,
  avalanche: 43114,
  iotex: 4689,
  sei: 1329,
  'sei-testnet': 1328,
  polygon: 137,
  'polygon-amoy': 80002,
  peaq: 3338,
  story: 1514,
  educhain: 41923,
  'skale-base-sepolia': 324705682,
}

/** The header that carries a payment, by name and value. */
export function paymentHeader(
  offer: Offer,
  { payload }: Pick<SignedPayment, 'payload'>,
  { resource, extensions }: Pick<PaymentRequired, 'resource' | 'extensions'>,
  paymentId: string,
): Record<string, string> {
  if (offer.x402Version === 1) {
    const { scheme, entry } = offer
    return { 'x-payment': encodeJson({ x402Version: 1, scheme, network: entry['network'], payload }) }
  }
  const payment = {
    x402Version: 2,
    ...(resource === undefined ? {} : { resource }),
    accepted: offer.entry,
    payload,
    ...withIdentifier(extensions, paymentId),
  }
  return { 'payment-signature': encodeJson(payment) }
}

/** With x402's `payment-identifier`, the same payment gets the same answer again. Other extensions are not used. */
function withIdentifier(extensions: Record<string, unknown>, id: string) {
  const declared = v.safeParse(Members, extensions[PAYMENT_IDENTIFIER])
  if (!declared.success) return {}
  const info = v.safeParse(Members, declared.output['info'])
  const echo = { ...declared.output, info: { ...(info.success ? info.output : {}), id } }
  return { extensions: { [PAYMENT_IDENTIFIER]: echo } }
}

const PAYMENT_IDENTIFIER = 'payment-identifier'

const Receipt = v.looseObject({ success: v.boolean(), transaction: v.nullish(v.string()) })

/** What `PAYMENT-RESPONSE` or `X-PAYMENT-RESPONSE` says of the payment. */
export function receiptIn({ headers }: Pick<Response, 'headers'>) {
  const text = headers.get('payment-response') ?? headers.get('x-payment-response')
  const parsed = v.safeParse(Receipt, decodeJson(text ?? ''))
  return parsed.success
    ? { success: parsed.output.success, transaction: parsed.output.transaction ?? '' }
    : undefined
}
