import { type PaymentPayloadV2 } from './x402-v2'

/** The extension by which a facilitator sends the token's own EIP-2612 permit, so that Permit2 may move the token. */
export const GAS_SPONSORING = 'eip2612GasSponsoring'

/**
 * The signed payload of a payment, with the token's own permit beside a Permit2 transfer: version 2 carries the permit as
 * an extension.
 */
export function signedPayloadOf({
  payload,
  extensions,
}: Pick<PaymentPayloadV2, 'payload' | 'extensions'>): PaymentPayloadV2['payload'] {
  const sponsoring = extensions?.[GAS_SPONSORING] ?? undefined
  return typeof payload === 'object' && 'permit2Authorization' in payload && sponsoring !== undefined
    ? { ...payload, [GAS_SPONSORING]: sponsoring }
    : payload
}
