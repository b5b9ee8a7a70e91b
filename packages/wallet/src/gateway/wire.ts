import * as z from 'zod/mini'

/** What the gateway answers, as far as this package reads it; other members pass through. */

export const Plan = z.looseObject({
  id: z.number(),
  plan_name: z.string(),
  chain_id: z.string(),
  network: z.string(),
  ecosystem: z.string(),
  asset_address: z.string(),
  amount: z.string(),
  decimals: z.number(),
  display_denom: z.string(),
  credits: z.number(),
  pay_to: z.string(),
  price_per_credit: z.string(),
  calls: z.array(
    z.looseObject({
      ecosystem: z.string(),
      chain_id: z.string(),
      transports: z.array(z.string()),
      method_credits: z.record(z.string(), z.number()),
      not_served: z.array(z.string()),
    }),
  ),
})
export type Plan = z.infer<typeof Plan>

export const Provider = z.looseObject({
  provider_id: z.string(),
  category: z.string(),
  chain_id: z.string(),
  network: z.string(),
  rpc: z.array(z.string()),
  rest: z.array(z.string()),
  description: z.string(),
})
export type Provider = z.infer<typeof Provider>

export const CreditBalance = z.looseObject({ pricing_plan_id: z.number(), remaining_credits: z.number() })
export type CreditBalance = z.infer<typeof CreditBalance>

export const UsageRecord = z.looseObject({
  id: z.number(),
  pricing_plan_id: z.number(),
  chain_id: z.string(),
  transport: z.string(),
  rpc_method: z.nullable(z.string()),
  credits: z.number(),
  status_code: z.nullable(z.number()),
  outcome: z.string(),
  latency_ms: z.nullable(z.number()),
  created_at: z.string(),
  key_label: z.nullable(z.string()),
})
export type UsageRecord = z.infer<typeof UsageRecord>

export const PaymentRecord = z.looseObject({
  id: z.string(),
  pricing_plan_id: z.number(),
  network: z.string(),
  chain_id: z.string(),
  asset: z.string(),
  amount: z.string(),
  payer: z.string(),
  pay_to: z.string(),
  credits: z.number(),
  status: z.string(),
  transaction: z.nullable(z.string()),
  block_number: z.nullable(z.number()),
  created_at: z.string(),
  settled_at: z.nullable(z.string()),
})
export type PaymentRecord = z.infer<typeof PaymentRecord>

export const pageOf = <Item extends z.ZodMiniType>(item: Item) =>
  z.looseObject({ data: z.array(item), pagination: z.looseObject({ total: z.number() }) })

export const Nonce = z.looseObject({ nonce: z.string(), domains: z.optional(z.array(z.string())) })

export const SessionTokens = z.looseObject({
  token: z.string(),
  refresh_token: z.string(),
  expires_at: z.string(),
})
export type SessionTokens = z.infer<typeof SessionTokens>

export const AccessKey = z.looseObject({
  id: z.string(),
  label: z.string(),
  pricing_plan_id: z.number(),
  max_credits: z.nullable(z.number()),
  max_credits_per_day: z.nullable(z.number()),
  chains: z.array(z.string()),
  methods: z.array(z.string()),
  origins: z.array(z.string()),
  spent_credits: z.number(),
  spent_credits_today: z.number(),
  created_at: z.string(),
  expires_at: z.nullable(z.string()),
})
export type AccessKey = z.infer<typeof AccessKey>

export const CreatedAccessKey = z.extend(AccessKey, { key: z.string(), url: z.string() })
export type CreatedAccessKey = z.infer<typeof CreatedAccessKey>

export type NewAccessKey = {
  label: string
  expires_at?: string
  max_credits?: number
  max_credits_per_day?: number
  chains?: string[]
  methods?: string[]
  origins?: string[]
}

/** The answer to a purchase, `POST /credits`. */
export const PurchaseAnswer = z.looseObject({
  pricing_plan_id: z.number(),
  credits: z.number(),
  transaction: z.string(),
})

export const Refusal = z.looseObject({ code: z.string(), message: z.string() })
