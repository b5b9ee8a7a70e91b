import { z } from 'zod'
import { hex } from '../../rpc-schemas'
import type { RelayedPayment } from '../relayed-payment'
import { Address, Signature, Uint256 } from '../../fields'
import { readSignature } from '../../signing/wrapped-signature'

/** An EIP-3009 authorization as its payer signed it. `validAfter` and `validBefore` in Unix seconds, exclusive. */
export type AuthorizedPayment = RelayedPayment & {
  kind: 'eip3009'
  validBefore: bigint
}

const Authorization = z.object({
  from: Address,
  to: Address,
  value: Uint256,
  validAfter: Uint256,
  validBefore: Uint256,
  nonce: hex(/^0x[0-9a-f]{64}$/i),
})

const SignedAuthorization = z.object({ signature: Signature, authorization: Authorization })

const Payload = z.union([
  SignedAuthorization,
  z.object({ type: z.literal('eip3009'), eip3009: SignedAuthorization }).transform(({ eip3009 }) => eip3009),
])

/** Parses `{ signature, authorization }` of x402's `exact` scheme, or the same in `{ type: 'eip3009', eip3009 }`. */
export function readAuthorization(payload: unknown): AuthorizedPayment | undefined {
  const { data } = Payload.safeParse(payload)
  if (data === undefined) return undefined
  const { from, to, value, validAfter, validBefore, nonce } = data.authorization
  return {
    kind: 'eip3009',
    payer: from,
    payTo: to,
    amount: value,
    nonce,
    validAfter,
    validBefore,
    validUntil: validBefore,
    ...readSignature(data.signature),
  }
}
