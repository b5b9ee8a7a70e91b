import { z } from 'zod'
import { Ecosystem } from '../networks'
import { exampleWallet, PlanId, text, WalletAddress } from './fields'

export const AuthMethod = z.enum(['siwe', 'siwc'])
export type AuthMethod = z.infer<typeof AuthMethod>

export const NonceQuery = z.object({
  address: WalletAddress.optional().meta({
    description: 'The wallet that will sign in. The nonce is then valid for this wallet only.',
    examples: [exampleWallet],
  }),
})
export const NonceAnswer = z
  .object({
    nonce: z.string().describe('A single-use value for the sign-in message.'),
    expires_in: z.int().describe('Seconds until it expires.'),
    domains: z
      .array(z.string())
      .describe(
        'The names and domains that a sign-in message may be addressed to; `*` stands for the domain of every app. The host of this service is one of them; unless the operator has listed it, too, only an EIP-4361 or CAIP-122 message may name it.',
      ),
  })
  .meta({
    id: 'Nonce',
    examples: [
      {
        nonce: '4d6f2b1c9e8a7f305b6c7d8e9fa0b1c2',
        expires_in: 300,
        domains: ['Tollgate', 'gateway.example'],
      },
    ],
  })
export type NonceAnswer = z.infer<typeof NonceAnswer>

/** Room for the capabilities of a WalletConnect session (ERC-5573), and for the signature of a contract with twenty owners. */
const MAX_SIGNED_LENGTH = 16_384

const signed = {
  message: text(MAX_SIGNED_LENGTH).describe('The sign-in message, exactly as signed.'),
  signature: text(MAX_SIGNED_LENGTH).describe(
    'The wallet’s signature over `message`: by EIP-191, in hex, for `siwe`, where a contract that has stored its signature on chain sends `0x`; by ADR-036, its 64 bytes in base64, for `siwc`.',
  ),
  address: text(128).describe('The wallet. The message must name the same one.'),
  pubkey: text(256)
    .optional()
    .describe('For `siwc` only, and required there: the compressed public key, its 33 bytes in base64.'),
}

const signedExample = {
  message: `Tollgate wants you to sign in.\n\nAddress: ${exampleWallet}\nNonce: 4d6f2b1c9e8a7f305b6c7d8e9fa0b1c2\nIssued At: 2026-01-15T12:00:00.000Z`,
  signature: `0x${'5c'.repeat(64)}1b`,
  address: exampleWallet,
}

const exampleCosmosWallet = 'cosmos19rl4cm2hmr8afy4kldpxz3fka4jguq0auqdal4'
const signedCosmosExample = {
  message: signedExample.message.replace(exampleWallet, exampleCosmosWallet),
  signature: `${'XFxc'.repeat(21)}XA==`,
  address: exampleCosmosWallet,
  pubkey: 'Ak9OKtmcNNYLm6YoPJQxqEGK+GcyEpYfl6d7Y3f80Fti',
}

/** The full form contains method, chain, ecosystem and plan; the `chain` form only the chain's name. */
export const LoginRequest = z
  .object({
    ...signed,
    auth_method: AuthMethod.optional().describe(
      'How the message was signed: `siwe` by EVM wallets, `siwc` by Cosmos wallets.',
    ),
    x402_chain_id: text(64).optional().describe('The chain on which the plan is paid.'),
    x402_ecosystem: Ecosystem.optional().describe('The ecosystem of that chain.'),
    pricing_plan_id: PlanId.optional().describe('The plan whose credits the session’s calls spend.'),
    chain: text(64)
      .optional()
      .describe(
        'Instead of the four: a chain by name, chain id or CAIP-2 id, or an ecosystem by word. Takes its first active plan.',
      ),
  })
  .superRefine((login, context) => {
    if (login.chain !== undefined) return
    for (const field of ['auth_method', 'x402_chain_id', 'x402_ecosystem', 'pricing_plan_id'] as const)
      if (login[field] === undefined)
        context.addIssue({ code: 'custom', path: [field], message: 'is required where `chain` is not given' })
  })
  .meta({
    id: 'LoginRequest',
    anyOf: [
      { required: ['auth_method', 'x402_chain_id', 'x402_ecosystem', 'pricing_plan_id'] },
      { required: ['chain'] },
    ],
    examples: [
      {
        ...signedExample,
        auth_method: 'siwe',
        x402_chain_id: '84532',
        x402_ecosystem: 'evm',
        pricing_plan_id: 1,
      },
      { ...signedExample, chain: 'base-sepolia' },
      { ...signedCosmosExample, chain: 'cosmos' },
    ],
  })
export type LoginRequest = z.infer<typeof LoginRequest>

export const SessionTokens = z
  .object({
    token: z.string().describe('The bearer token: a JWT, valid for one hour.'),
    refresh_token: z.string().describe('Single use at `POST /auth/refresh`, within 30 days.'),
    expires_at: z.iso.datetime().describe('When `token` expires.'),
  })
  .meta({
    id: 'SessionTokens',
    examples: [
      {
        token: 'eyJhbGciOiJIUzI1NiJ9.eyJ3YWxsZXQiOiIweDcwOTkifQ.c2lnbmF0dXJl',
        refresh_token: 'mB4Zr1V0yq3nT6wX8uKcE2hJ5sL7pQ9aD1fG3kM5oRI',
        expires_at: '2026-01-15T13:00:00.000Z',
      },
    ],
  })
export type SessionTokens = z.infer<typeof SessionTokens>

export const RefreshRequest = z
  .object({
    refresh_token: text(128).describe(
      'The newest refresh token of the session. It works once; a repetition within ten seconds gets the same answer.',
    ),
  })
  .meta({
    id: 'RefreshRequest',
    examples: [{ refresh_token: 'mB4Zr1V0yq3nT6wX8uKcE2hJ5sL7pQ9aD1fG3kM5oRI' }],
  })
