import * as v from 'valibot'
import type * as records from './records.js'

/** A schema whose answers the compiler has found to be `Record`. */
type SchemaOf<Record> = v.GenericSchema<unknown, Record>

/** What the gateway answers, as far as this package reads it; other members pass through. */

export const Plan = v.looseObject({
  id: v.number(),
  plan_name: v.string(),
  chain_id: v.string(),
  network: v.string(),
  ecosystem: v.string(),
  asset_address: v.string(),
  amount: v.pipe(v.string(), v.regex(/^[0-9]{1,78}$/)),
  decimals: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(36)),
  display_denom: v.string(),
  credits: v.number(),
  pay_to: v.string(),
  price_per_credit: v.string(),
  calls: v.array(
    v.looseObject({
      ecosystem: v.string(),
      chain_id: v.string(),
      transports: v.array(v.string()),
      method_credits: v.record(v.string(), v.number()),
      not_served: v.array(v.string()),
    }),
  ),
}) satisfies SchemaOf<records.Plan>
export type Plan = records.Plan

export const Provider = v.looseObject({
  provider_id: v.string(),
  category: v.string(),
  chain_id: v.string(),
  network: v.string(),
  rpc: v.array(v.string()),
  rest: v.array(v.string()),
  description: v.string(),
})
export type Provider = v.InferOutput<typeof Provider>

export const CreditBalance = v.looseObject({
  pricing_plan_id: v.number(),
  remaining_credits: v.number(),
}) satisfies SchemaOf<records.CreditBalance>
export type CreditBalance = records.CreditBalance

export const UsageRecord = v.looseObject({
  id: v.number(),
  pricing_plan_id: v.number(),
  chain_id: v.string(),
  transport: v.string(),
  rpc_method: v.nullable(v.string()),
  credits: v.number(),
  status_code: v.nullable(v.number()),
  outcome: v.string(),
  latency_ms: v.nullable(v.number()),
  created_at: v.string(),
  key_label: v.nullable(v.string()),
  resource: v.optional(v.nullable(v.string())),
}) satisfies SchemaOf<records.UsageRecord>
export type UsageRecord = records.UsageRecord

export const PaymentRecord = v.looseObject({
  id: v.string(),
  pricing_plan_id: v.number(),
  network: v.string(),
  chain_id: v.string(),
  asset: v.string(),
  amount: v.string(),
  payer: v.string(),
  pay_to: v.string(),
  credits: v.number(),
  status: v.string(),
  transaction: v.nullable(v.string()),
  block_number: v.nullable(v.number()),
  created_at: v.string(),
  settled_at: v.nullable(v.string()),
  /** Older gateways have no such member. */
  reversed_at: v.optional(v.nullable(v.string())),
  /** Absent from an older gateway, as the two below. */
  nonce: v.optional(v.string()),
  decimals: v.nullish(v.number()),
  display_denom: v.nullish(v.string()),
}) satisfies SchemaOf<records.PaymentRecord>
export type PaymentRecord = records.PaymentRecord

export const pageOf = <Item extends v.GenericSchema>(item: Item) =>
  v.looseObject({ data: v.array(item), pagination: v.looseObject({ total: v.number() }) })

export const Nonce = v.looseObject({ nonce: v.string(), domains: v.optional(v.array(v.string())) })

export const SessionTokens = v.looseObject({
  token: v.string(),
  refresh_token: v.string(),
  expires_at: v.string(),
})
export type SessionTokens = v.InferOutput<typeof SessionTokens>

export const AccessKey = v.looseObject({
  id: v.string(),
  label: v.string(),
  pricing_plan_id: v.number(),
  max_credits: v.nullable(v.number()),
  max_credits_per_day: v.nullable(v.number()),
  chains: v.array(v.string()),
  methods: v.array(v.string()),
  origins: v.array(v.string()),
  spent_credits: v.number(),
  spent_credits_today: v.number(),
  created_at: v.string(),
  expires_at: v.nullable(v.string()),
}) satisfies SchemaOf<records.AccessKey>
export type AccessKey = records.AccessKey

export const CreatedAccessKey = v.looseObject({
  ...AccessKey.entries,
  key: v.string(),
  url: v.string(),
}) satisfies SchemaOf<records.CreatedAccessKey>
export type CreatedAccessKey = records.CreatedAccessKey

export type NewAccessKey = records.NewAccessKey

/** The answer to a purchase, `POST /credits`. */
export const PurchaseAnswer = v.looseObject({
  pricing_plan_id: v.number(),
  credits: v.number(),
  transaction: v.string(),
})

/** The 402 of a session has no `code`. */
export const Refusal = v.looseObject({ code: v.optional(v.string()), message: v.string() })
