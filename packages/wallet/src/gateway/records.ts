/** What the gateway says, with its own names of members. A newer gateway may add members, which these types do not name. */

/** What a plan's credits pay for on one chain. */
export type PlanCalls = {
  ecosystem: string
  chain_id: string
  /** How a node may be called, such as `jsonrpc`. */
  transports: string[]
  /** Credits of a call by its method; `*` is any other one. */
  method_credits: Record<string, number>
  /** Methods that are refused. */
  not_served: string[]
}

/** A bundle of credits on sale. */
export type Plan = {
  id: number
  plan_name: string
  /** The chain that is paid on: `84532`, `cosmoshub-4`. */
  chain_id: string
  /** Its name, such as `base-sepolia`. */
  network: string
  /** `evm` or `cosmos`. */
  ecosystem: string
  /** The token's address, or the denomination. */
  asset_address: string
  /** The price in the asset's smallest unit: `10000` is 0.01 of an asset with 6 decimals. */
  amount: string
  /** The asset's decimals, by the gateway's word. */
  decimals: number
  /** The asset's symbol, by the gateway's word. */
  display_denom: string
  /** How many credits one payment buys. */
  credits: number
  /** The address that is paid. */
  pay_to: string
  /** The price of one credit, as a decimal number of `display_denom`: `0.0001`. */
  price_per_credit: string
  calls: PlanCalls[]
}

/** The credits that a wallet has left on a plan; on plan 0 those that the gateway gave it for free. */
export type CreditBalance = { pricing_plan_id: number; remaining_credits: number }

/** A call, as the gateway has recorded it. */
export type UsageRecord = {
  id: number
  pricing_plan_id: number
  chain_id: string
  transport: string
  rpc_method: string | null
  /** What it cost, in credits. */
  credits: number
  /** The HTTP status of the node's answer; null if there was none. */
  status_code: number | null
  outcome: string
  latency_ms: number | null
  /** ISO 8601, UTC, as every time here. */
  created_at: string
  /** The label of the access key that made it; null for the wallet's own. */
  key_label: string | null
  /** The path that was called, below the node's address. */
  resource?: string | null | undefined
}

/** A payment, as the gateway has recorded it. */
export type PaymentRecord = {
  id: string
  pricing_plan_id: number
  network: string
  chain_id: string
  asset: string
  /** Counted in the asset's smallest unit. */
  amount: string
  payer: string
  pay_to: string
  /** How many credits it bought. */
  credits: number
  status: string
  /** The transaction's hash; null until it is known. */
  transaction: string | null
  block_number: number | null
  created_at: string
  settled_at: string | null
  /** Absent from an older gateway, as the three below. */
  reversed_at?: string | null | undefined
  nonce?: string | undefined
  decimals?: number | null | undefined
  /** The asset's symbol. */
  display_denom?: string | null | undefined
}

/** A key for programs without a wallet, without its secret. */
export type AccessKey = {
  id: string
  label: string
  pricing_plan_id: number
  /** The most that it may ever spend, in credits; null: no limit. */
  max_credits: number | null
  /** The same for a day, midnight to midnight, UTC. */
  max_credits_per_day: number | null
  /** The chains that it may call; empty: all. */
  chains: string[]
  /** The methods that it may call; empty: all. */
  methods: string[]
  /** The origins of pages that may use it; empty: all. */
  origins: string[]
  spent_credits: number
  spent_credits_today: number
  created_at: string
  expires_at: string | null
}

/** What is shown once. */
export type CreatedAccessKey = AccessKey & {
  /** The secret. */
  key: string
  /** The gateway's URL that contains it. */
  url: string
}

/** An access key to be made: what is absent has no limit. */
export type NewAccessKey = {
  label: string
  /** ISO 8601. */
  expires_at?: string
  max_credits?: number
  max_credits_per_day?: number
  chains?: string[]
  methods?: string[]
  origins?: string[]
}
