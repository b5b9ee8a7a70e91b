import { z } from 'zod'
import { Amount } from './amount'
import { Ecosystem } from './networks'
import { PaymentRequirements } from './x402'

/** The gateway's messages: what wallet apps send and get. */
const text = (max: number) => z.string().min(1).max(max)
const PlanId = z.int().min(1).max(2_147_483_647).describe('The number of a pricing plan.')
const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** A wallet as callers write it. What an ecosystem makes of it, its family knows. */
export const WalletAddress = text(128)
  .regex(/^(0[xX][0-9a-fA-F]{40}|[a-z0-9]{1,83}1[02-9ac-hj-np-z]{6,90})$/, 'must be the address of a wallet')
  .meta({
    description:
      'A wallet: an EVM address in any letter case, or the bech32 address of an ecosystem served here.',
    examples: [wallet],
  })

export const AuthMethod = z.enum(['siwe', 'siwc'])
export type AuthMethod = z.infer<typeof AuthMethod>

export const NonceQuery = z.object({
  address: WalletAddress.optional().meta({
    description: 'The wallet that will sign in. With it the nonce is good for that wallet only.',
    examples: [wallet],
  }),
})
export const NonceAnswer = z
  .object({
    nonce: z.string().describe('A one-time value, to be written into the sign-in message.'),
    expires_in: z.int().describe('For how many seconds it can be used.'),
  })
  .meta({ id: 'Nonce', examples: [{ nonce: '4d6f2b1c9e8a7f305b6c7d8e9fa0b1c2', expires_in: 300 }] })
export type NonceAnswer = z.infer<typeof NonceAnswer>

const signed = {
  message: text(4096).describe('The sign-in message, to the letter as it was signed.'),
  signature: text(4096).describe(
    'The wallet’s signature over `message`: in hex for `siwe`, in base64 for `siwc`.',
  ),
  address: text(128).describe('The wallet. The message must name the same one.'),
  pubkey: text(256).optional().describe('For `siwc` only: the public key, in base64.'),
}

const signedExample = {
  message: `Tollgate wants you to sign in.\n\nAddress: ${wallet}\nNonce: 4d6f2b1c9e8a7f305b6c7d8e9fa0b1c2\nIssued At: 2026-01-15T12:00:00.000Z`,
  signature: `0x${'5c'.repeat(64)}1b`,
  address: wallet,
}

/** The full form names method, chain, ecosystem and plan; the `chain` form names the chain by word and leaves the rest out. */
export const LoginRequest = z
  .object({
    ...signed,
    auth_method: AuthMethod.optional().describe(
      'How the message was signed: `siwe` by EVM wallets, `siwc` by Cosmos wallets.',
    ),
    x402_chain_id: text(64).optional().describe('The chain on which the plan is paid.'),
    x402_ecosystem: Ecosystem.optional().describe('The ecosystem of that chain.'),
    pricing_plan_id: PlanId.optional().describe('The plan that calls of this session spend from.'),
    chain: text(64)
      .optional()
      .describe(
        'Instead of the four: a network, a chain id or an ecosystem by word. The first active plan for it is taken.',
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
    ],
  })
export type LoginRequest = z.infer<typeof LoginRequest>

export const SessionTokens = z
  .object({
    token: z.string().describe('The bearer token: a JWT, good for one hour.'),
    refresh_token: z.string().describe('Good for one use at `POST /auth/refresh`, within 30 days.'),
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
  .object({ refresh_token: text(128).describe('The newest refresh token of the session. It works once.') })
  .meta({
    id: 'RefreshRequest',
    examples: [{ refresh_token: 'mB4Zr1V0yq3nT6wX8uKcE2hJ5sL7pQ9aD1fG3kM5oRI' }],
  })

/** Every answer that has nothing to tell but that all is well. */
export const StatusAnswer = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Status', examples: [{ status: 'ok' }] })

export const PricingPlan = z
  .object({
    id: PlanId,
    plan_name: z.string().describe('Its name, for people.'),
    chain_id: z.string().describe('The chain on which it is paid.'),
    network: z.string().describe('That chain’s name.'),
    ecosystem: Ecosystem.describe('That chain’s ecosystem.'),
    asset_address: z.string().describe('The asset it is paid in: a token’s address, or a denomination.'),
    amount: Amount.describe('The price, in the asset’s smallest unit.'),
    decimals: z.int().describe('How many decimals the asset has.'),
    display_denom: z.string().describe('The asset’s symbol.'),
    credits: z.int().describe('What one payment buys.'),
    pay_to: z.string().describe('Who is paid.'),
  })
  .meta({
    id: 'PricingPlan',
    description: 'What a wallet can buy.',
    examples: [
      {
        id: 1,
        plan_name: 'Starter',
        chain_id: '84532',
        network: 'base-sepolia',
        ecosystem: 'evm',
        asset_address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
        amount: '10000',
        decimals: 6,
        display_denom: 'USDC',
        credits: 100,
        pay_to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
      },
    ],
  })
export type PricingPlan = z.infer<typeof PricingPlan>

/** The plan in a path, as the number it is inside. */
export const PlanPath = z.object({
  id: z
    .string()
    .regex(/^[1-9][0-9]{0,8}$/, 'must be a plan’s number')
    .transform(Number)
    .meta({ description: 'The number of the plan.', examples: ['1'] }),
})

export const Provider = z
  .object({
    id: z.int(),
    provider_id: z.string().describe('Its name in `GET /providers/{id}`.'),
    category: Ecosystem.describe('The ecosystem of its chain.'),
    chain_id: z.string().describe('The chain it serves.'),
    rpc: z.array(z.string()).describe('Base URLs for calls over `rpc`.'),
    rest: z.array(z.string()).describe('Base URLs for calls over `rest`; may be empty.'),
    description: z.string().describe('What it is, for people.'),
  })
  .meta({
    id: 'Provider',
    description: 'Where calls to a chain go.',
    examples: [
      {
        id: 1,
        provider_id: 'base-sepolia-main',
        category: 'evm',
        chain_id: '84532',
        rpc: ['https://rpc.example/base-sepolia'],
        rest: [],
        description: 'Base Sepolia, full node',
      },
    ],
  })
export type Provider = z.infer<typeof Provider>

export const ProviderPath = z.object({
  id: text(128).meta({ description: 'The `provider_id` of the provider.', examples: ['base-sepolia-main'] }),
})

export const ProviderQuery = z.object({
  category: text(32).meta({ description: 'The ecosystem, such as `evm`.', examples: ['evm'] }),
  chain_id: text(64).meta({ description: 'The chain.', examples: ['84532'] }),
})

export const WalletPath = z.object({ wallet: WalletAddress })

export const CreditBalance = z
  .object({
    pricing_plan_id: PlanId,
    remaining_credits: z.int().min(0).describe('What is left to spend on it.'),
  })
  .meta({ id: 'CreditBalance', examples: [{ pricing_plan_id: 1, remaining_credits: 99 }] })
export type CreditBalance = z.infer<typeof CreditBalance>

export const SupportedPaymentKind = z
  .object({
    scheme: z.string().describe('How it is paid, such as `exact`.'),
    network: z.string().describe('The network’s name.'),
    asset: z.string().describe('The asset’s address or denomination.'),
  })
  .meta({
    id: 'SupportedPaymentKind',
    examples: [
      { scheme: 'exact', network: 'base-sepolia', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' },
    ],
  })
export type SupportedPaymentKind = z.infer<typeof SupportedPaymentKind>

/** One paid call. `payload` is the body for the upstream (of a GET: its query); an array is a JSON-RPC batch. */
export const RpcRequest = z
  .object({
    ecosystem: Ecosystem.describe('The ecosystem of the chain that is called.'),
    chain_id: text(64).describe('The chain that is called; see `GET /providers`.'),
    resource: z
      .string()
      .max(2048)
      .meta({
        description:
          'The path below the provider’s base URL, with a query if it needs one; empty for the base URL itself. What could lead out of it is refused, percent-encoded too.',
        not: {
          pattern:
            '^[a-zA-Z][a-zA-Z0-9+.\\-]*:|//|[\\\\@#\\u0000-\\u0020\\u007f-\\u009f]|(^|/)\\.{1,2}([/;?]|$)',
        },
      }),
    method: z
      .enum(['GET', 'POST'])
      .describe(
        'How the provider is asked. A `GET` sends no body: the members of `payload` become its query.',
      ),
    transport: z.enum(['rpc', 'rest']).describe('Which of the provider’s base URLs are meant.'),
    payload: z
      .union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown())).min(1)])
      .describe(
        'What the provider is sent, byte for byte; may be empty. An array is a JSON-RPC batch: it costs the sum of its entries and goes by `POST`. A JSON-RPC entry writes `method` in small letters.',
      ),
  })
  .meta({
    id: 'RpcRequest',
    not: {
      required: ['method', 'payload'],
      properties: { method: { const: 'GET' }, payload: { type: 'array' } },
    },
    examples: [
      {
        ecosystem: 'evm',
        chain_id: '84532',
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
      },
      {
        ecosystem: 'evm',
        chain_id: '84532',
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: [
          { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
          { jsonrpc: '2.0', id: 2, method: 'eth_chainId', params: [] },
        ],
      },
    ],
  })
export type RpcRequest = z.infer<typeof RpcRequest>

/** The `paymentRequirements` of a 402: unlike x402's own, `network` holds the plan's chain id. */
export const PlanPaymentRequirements = z
  .object({
    scheme: z.literal('exact'),
    network: z.string().describe('The chain id of the plan.'),
    asset: z.string().describe('What to pay in: a token’s address, or a denomination.'),
    maxAmountRequired: Amount.describe('What to pay, in the asset’s smallest unit: exactly this.'),
    mimeType: z.literal('application/json'),
    payTo: z.string().describe('Whom to pay.'),
    maxTimeoutSeconds: z.int().describe('For how many seconds the payment may be on its way.'),
    description: z.string().describe('What is bought, for people.'),
  })
  .meta({
    id: 'PlanPaymentRequirements',
    description: 'What to pay for credits, in the gateway’s own words.',
  })
export type PlanPaymentRequirements = z.infer<typeof PlanPaymentRequirements>

/** The answer of a call without credits; the members after `paymentRequirements` are x402 version 1's own. */
export const PaymentRequired = z
  .object({
    status: z.literal(402),
    message: z.string().describe('What is lacking and what to do, for people.'),
    paymentRequirements: PlanPaymentRequirements,
    x402Version: z.literal(1).optional(),
    error: z.string().optional().describe('For x402 clients: why, in short.'),
    accepts: z
      .array(PaymentRequirements)
      .optional()
      .describe('For x402 clients: what to pay. Left out for networks that version 1 does not know.'),
  })
  .meta({
    id: 'PaymentRequired',
    description:
      'No credits for this call. `paymentRequirements` says what to pay; beside it stand the members of x402 version 1, so that its clients pay by themselves.',
    examples: [
      {
        status: 402,
        message: 'No credits left on plan 1; pay 0.01 USDC and send the signed payment in X-PAYMENT',
        paymentRequirements: {
          scheme: 'exact',
          network: '84532',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          maxAmountRequired: '10000',
          mimeType: 'application/json',
          payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
          maxTimeoutSeconds: 60,
          description: '100 credits for RPC calls (plan Starter)',
        },
        x402Version: 1,
        error: 'X-PAYMENT header is required',
        accepts: [
          {
            scheme: 'exact',
            network: 'base-sepolia',
            maxAmountRequired: '10000',
            resource: 'https://gateway.example/rpc',
            description: '100 credits for RPC calls (plan Starter)',
            mimeType: 'application/json',
            payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
            maxTimeoutSeconds: 60,
            asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
            extra: { name: 'USDC', version: '2' },
          },
        ],
      },
    ],
  })
export type PaymentRequired = z.infer<typeof PaymentRequired>

/** Farther than this a page is reached by `before`, which costs the same however far it is. */
const MAX_OFFSET = 10_000

/** A whole number as a query carries it: decimal digits and nothing else. */
const count = (min: number, max: number, tooBig?: string) =>
  z
    .string()
    .transform((digits, context) => {
      if (/^(0|[1-9][0-9]{0,15})$/.test(digits)) return Number(digits)
      context.addIssue('expected a whole number')
      return z.NEVER
    })
    .pipe(z.int().min(min).max(max, tooBig))
    .meta({ type: 'integer', minimum: min, maximum: max })

const page = (size: number) => ({
  limit: count(1, 100).default(size).meta({ description: 'How many records at most.' }),
  offset: count(
    0,
    MAX_OFFSET,
    `expected at most ${MAX_OFFSET}; to go on, send the id of the last record seen as \`before\` and no offset`,
  )
    .default(0)
    .meta({
      description:
        'How many records to pass over, newest first. New records move all others on by one, so whoever pages while calls are made follows `before` instead.',
    }),
})
const beforeDescription =
  'The id of the last record seen: only older ones are returned. Pages that follow it repeat and skip nothing, whatever is added meanwhile.'

export const HistoryQuery = z.object({
  ...page(20),
  plan_id: count(1, 2_147_483_647).optional().meta({ description: 'Only the calls paid on this plan.' }),
  before: count(1, Number.MAX_SAFE_INTEGER).optional().meta({ description: beforeDescription }),
})
export type HistoryQuery = z.infer<typeof HistoryQuery>

export const PaymentsQuery = z.object({
  ...page(30),
  before: z.guid().toLowerCase().optional().meta({ description: beforeDescription }),
})
export type PaymentsQuery = z.infer<typeof PaymentsQuery>

/** `total` counts all records that the query means, on this page and off it; `before` does not change it. */
const pageOf = <Record extends z.ZodType>(record: Record) =>
  z.object({
    data: z.array(record),
    pagination: z.object({ limit: z.int(), offset: z.int(), total: z.int() }),
  })

/** One paid call. Until it ends its `outcome` is `reserved`, and it has no status and no latency. */
export const UsageRecord = z
  .object({
    id: z.int(),
    pricing_plan_id: PlanId,
    provider_id: z.string(),
    ecosystem: Ecosystem,
    chain_id: z.string(),
    transport: z.enum(['rpc', 'rest']),
    method: z.string(),
    resource: z.string(),
    rpc_method: z
      .string()
      .nullable()
      .meta({ description: 'Of a JSON-RPC call; of a batch, its first entry.' }),
    credits: z.int(),
    status_code: z.int().nullable().meta({ description: 'What the upstream answered, if it did.' }),
    outcome: z
      .string()
      .meta({ description: 'How the call ended, in a word; `reserved` while it is under way.' }),
    latency_ms: z.int().nullable(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'UsageRecord', description: 'One paid call.' })
export type UsageRecord = z.infer<typeof UsageRecord>
export const UsagePage = pageOf(UsageRecord)
export type UsagePage = z.infer<typeof UsagePage>

/** One payment: `amount` in the asset's smallest unit, `credits` what it buys. */
export const PaymentHistoryRecord = z
  .object({
    id: z.guid(),
    pricing_plan_id: PlanId,
    network: z.string(),
    chain_id: z.string(),
    asset: z.string(),
    amount: Amount,
    payer: z.string(),
    pay_to: z.string(),
    credits: z.int(),
    status: z.enum(['received', 'settling', 'settled', 'credited', 'failed']),
    transaction: z.string().nullable(),
    block_number: z.int().nullable(),
    created_at: z.iso.datetime(),
    settled_at: z.iso.datetime().nullable(),
  })
  .meta({
    id: 'PaymentRecord',
    description: 'One payment: `amount` in the asset’s smallest unit, `credits` what it buys.',
  })
export type PaymentHistoryRecord = z.infer<typeof PaymentHistoryRecord>
export const PaymentPage = pageOf(PaymentHistoryRecord)
export type PaymentPage = z.infer<typeof PaymentPage>
