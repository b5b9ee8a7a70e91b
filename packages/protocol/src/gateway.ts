import { z } from 'zod'
import { Amount } from './amount'
import { Ecosystem } from './networks'
import { PaymentRequirements } from './x402'

/** The gateway's messages: what wallet apps send and get. */
const text = (max: number) => z.string().min(1).max(max)
const PlanId = z.int().min(1).max(2_147_483_647)

export const AuthMethod = z.enum(['siwe', 'siwc'])
export type AuthMethod = z.infer<typeof AuthMethod>

export const NonceQuery = z.object({ address: text(128).optional() })
export const NonceAnswer = z.object({ nonce: z.string(), expires_in: z.int() })
export type NonceAnswer = z.infer<typeof NonceAnswer>

const signed = {
  message: text(4096),
  signature: text(4096),
  address: text(128),
  pubkey: text(256).optional(),
}

/** The full form names method, chain, ecosystem and plan; the `chain` form names the chain by word and leaves the rest out. */
export const LoginRequest = z
  .object({
    ...signed,
    auth_method: AuthMethod.optional(),
    x402_chain_id: text(64).optional(),
    x402_ecosystem: Ecosystem.optional(),
    pricing_plan_id: PlanId.optional(),
    chain: text(64).optional(),
  })
  .superRefine((login, context) => {
    if (login.chain !== undefined) return
    for (const field of ['auth_method', 'x402_chain_id', 'x402_ecosystem', 'pricing_plan_id'] as const)
      if (login[field] === undefined)
        context.addIssue({ code: 'custom', path: [field], message: 'is required where `chain` is not given' })
  })
export type LoginRequest = z.infer<typeof LoginRequest>

export const SessionTokens = z.object({
  token: z.string(),
  refresh_token: z.string(),
  expires_at: z.iso.datetime(),
})
export type SessionTokens = z.infer<typeof SessionTokens>

export const RefreshRequest = z.object({ refresh_token: text(128) })

export const PricingPlan = z.object({
  id: PlanId,
  plan_name: z.string(),
  chain_id: z.string(),
  network: z.string(),
  ecosystem: Ecosystem,
  asset_address: z.string(),
  amount: Amount,
  decimals: z.int(),
  display_denom: z.string(),
  credits: z.int(),
  pay_to: z.string(),
})
export type PricingPlan = z.infer<typeof PricingPlan>

export const Provider = z.object({
  id: z.int(),
  provider_id: z.string(),
  category: Ecosystem,
  chain_id: z.string(),
  rpc: z.array(z.string()),
  rest: z.array(z.string()),
  description: z.string(),
})
export type Provider = z.infer<typeof Provider>

export const ProviderQuery = z.object({ category: text(32), chain_id: text(64) })

export const CreditBalance = z.object({ pricing_plan_id: PlanId, remaining_credits: z.int() })
export type CreditBalance = z.infer<typeof CreditBalance>

export const SupportedPaymentKind = z.object({ scheme: z.string(), network: z.string(), asset: z.string() })
export type SupportedPaymentKind = z.infer<typeof SupportedPaymentKind>

/** One paid call. `payload` is the body for the upstream (of a GET: its query); an array is a JSON-RPC batch. */
export const RpcRequest = z.object({
  ecosystem: Ecosystem,
  chain_id: text(64),
  resource: z.string().max(2048),
  method: z.enum(['GET', 'POST']),
  transport: z.enum(['rpc', 'rest']),
  payload: z.union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown())).min(1)]),
})
export type RpcRequest = z.infer<typeof RpcRequest>

/** The `paymentRequirements` of a 402: unlike x402's own, `network` holds the plan's chain id. */
export const PlanPaymentRequirements = z.object({
  scheme: z.literal('exact'),
  network: z.string(),
  asset: z.string(),
  maxAmountRequired: Amount,
  mimeType: z.literal('application/json'),
  payTo: z.string(),
  maxTimeoutSeconds: z.int(),
  description: z.string(),
})
export type PlanPaymentRequirements = z.infer<typeof PlanPaymentRequirements>

/** The answer of a call without credits; the members after `paymentRequirements` are x402 version 1's own. */
export const PaymentRequired = z.object({
  status: z.literal(402),
  message: z.string(),
  paymentRequirements: PlanPaymentRequirements,
  x402Version: z.literal(1).optional(),
  error: z.string().optional(),
  accepts: z.array(PaymentRequirements).optional(),
})
export type PaymentRequired = z.infer<typeof PaymentRequired>
