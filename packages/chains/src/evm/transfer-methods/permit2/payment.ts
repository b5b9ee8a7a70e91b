import { z } from 'zod'
import { hex } from '../../rpc-schemas'
import type { RelayedPayment } from '../relayed-payment'
import { Address, Signature, Uint256 } from '../../fields'
import { canonicalSignature } from '../../signing/signature'
import { readSignature } from '../../signing/wrapped-signature'

/** A Permit2 transfer as its payer signed it, with the recipient as its witness. Valid up to and including `deadline` (Unix seconds). */
export type PermittedPayment = RelayedPayment & {
  kind: 'permit2'
  spender: string
  asset: string
  permitNonce: bigint
  deadline: bigint
  /** Approves Permit2 if the payer has not done so by a transaction. */
  permit?: TokenPermit
}

/** An EIP-2612 permit; nothing is checked yet. */
export type TokenPermit = {
  owner: string
  asset: string
  spender: string
  value: bigint
  nonce: bigint
  deadline: bigint
  signature: string
}

/** A key's signature, in canonical form: tokens do not accept contract wallets here. */
const PermitSignature = hex(/^0x[0-9a-f]{128}(?:[0-9a-f]{2})?$/i).transform((text, context) => {
  const signature = canonicalSignature(text)
  if (signature === undefined) context.addIssue({ code: 'custom', message: 'is no signature of a key' })
  return signature ?? z.NEVER
})

const SponsoredPermit = z.object({
  from: Address,
  asset: Address,
  spender: Address,
  amount: Uint256,
  nonce: Uint256,
  deadline: Uint256,
  signature: PermitSignature,
  version: z.literal('1'),
})

/** The server's declaration of the extension, which clients that need no permit return unchanged. */
const Declaration = z.object({ signature: z.undefined().optional() }).transform(() => undefined)

const Permit2Authorization = z.object({
  from: Address,
  permitted: z.object({ token: Address, amount: Uint256 }),
  spender: Address,
  nonce: Uint256,
  deadline: Uint256,
  witness: z.object({ to: Address, validAfter: Uint256 }),
})

const SignedPermit = z.object({
  signature: Signature,
  permit2Authorization: Permit2Authorization,
  eip2612GasSponsoring: z.object({ info: z.union([SponsoredPermit, Declaration]) }).optional(),
})

const Payload = z.union([
  SignedPermit,
  z.object({ type: z.literal('permit2'), permit2: SignedPermit }).transform(({ permit2 }) => permit2),
])

/**
 * Parses `{ signature, permit2Authorization }` of x402's `exact` scheme, with or without the extension
 * `eip2612GasSponsoring`, or the same in `{ type: 'permit2', permit2 }`.
 */
export function readPermit2(payload: unknown): PermittedPayment | undefined {
  const { data } = Payload.safeParse(payload)
  if (data === undefined) return undefined
  const { signature, permit2Authorization, eip2612GasSponsoring } = data
  const { from, permitted, spender, nonce, deadline, witness } = permit2Authorization
  const permit = eip2612GasSponsoring?.info
  return {
    kind: 'permit2',
    payer: from,
    payTo: witness.to,
    amount: permitted.amount,
    // Differs from every nonce of another method.
    nonce: `permit2 ${nonce}`,
    validAfter: witness.validAfter,
    validUntil: deadline + 1n,
    ...readSignature(signature),
    spender,
    asset: permitted.token,
    permitNonce: nonce,
    deadline,
    ...(permit && { permit: permitOf(permit) }),
  }
}

const permitOf = ({ from, amount, ...rest }: z.infer<typeof SponsoredPermit>): TokenPermit => ({
  owner: from,
  value: amount,
  asset: rest.asset,
  spender: rest.spender,
  nonce: rest.nonce,
  deadline: rest.deadline,
  signature: rest.signature,
})
