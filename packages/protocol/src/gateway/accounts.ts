import { z } from 'zod'
import { Amount } from '../amount'
import { Ecosystem } from '../networks'
import { count } from '../query'
import { AccountPlanId, FREE_PLAN_ID, PlanId, WalletAddress } from './fields'

export const WalletPath = z.object({ wallet: WalletAddress })

export const CreditBalance = z
  .object({
    pricing_plan_id: AccountPlanId,
    remaining_credits: z.int().min(0).describe('Credits that remain.'),
  })
  .meta({ id: 'CreditBalance', examples: [{ pricing_plan_id: 1, remaining_credits: 99 }] })
export type CreditBalance = z.infer<typeof CreditBalance>

/** The answer to `POST /credits`. */
export const PurchaseAnswer = z
  .object({
    pricing_plan_id: PlanId,
    credits: z.int().describe('What this payment bought.'),
    transaction: z.string().describe('The transaction that paid.'),
    network: z.string().describe('The network of the plan.'),
    remaining_credits: z.int().min(0).describe('Credits that remain on the plan.'),
  })
  .meta({
    id: 'Purchase',
    description: 'Credits that were bought without a call.',
    examples: [
      {
        pricing_plan_id: 1,
        credits: 100,
        transaction: `0x${'ab'.repeat(32)}`,
        network: 'base-sepolia',
        remaining_credits: 100,
      },
    ],
  })
export type PurchaseAnswer = z.infer<typeof PurchaseAnswer>

export const MAX_PAGE_ROWS = 100
export const MAX_CSV_ROWS = 10_000

/** Pages beyond it use `before`, whose cost does not depend on the depth. */
const MAX_OFFSET = 10_000

const page = (size: number) => ({
  limit: count(1, MAX_CSV_ROWS)
    .default(size)
    .meta({
      description: `The maximum number of records: up to ${MAX_PAGE_ROWS}, as CSV up to ${MAX_CSV_ROWS}.`,
    }),
  offset: count(
    0,
    MAX_OFFSET,
    `expected at most ${MAX_OFFSET}; to go on, send the id of the last record seen as \`before\` and no offset`,
  )
    .default(0)
    .meta({
      description:
        'How many records to pass over, newest first. New records move all others on by one, so page with `before` while calls are made.',
    }),
})
const beforeDescription =
  'The id of the last record seen: only older ones are returned. Pages that follow it repeat and skip nothing, whatever is added meanwhile.'

export const HistoryQuery = z.object({
  ...page(20),
  plan_id: count(FREE_PLAN_ID, 2_147_483_647)
    .optional()
    .meta({ description: 'Only the calls paid on this plan; 0 for the free ones.' }),
  before: count(1, Number.MAX_SAFE_INTEGER).optional().meta({ description: beforeDescription }),
})
export type HistoryQuery = z.infer<typeof HistoryQuery>

export const PaymentsQuery = z.object({
  ...page(30),
  before: z.guid().toLowerCase().optional().meta({ description: beforeDescription }),
})
export type PaymentsQuery = z.infer<typeof PaymentsQuery>

/** `total` counts all matching records, on any page; `before` does not change it. */
const pageOf = <Record extends z.ZodType>(record: Record) =>
  z.object({
    data: z.array(record),
    pagination: z.object({ limit: z.int(), offset: z.int(), total: z.int() }),
  })

/**
 * How a paid call ended. `answered`: also with an error of the node. `cut_off`: the caller received a part of the answer.
 * `caller_left`: charged if an upstream may have executed the call. `upstream_timeout`, `upstream_refused` (for the size of the query
 * or the method): charged, because the wallet had too many.
 * Refunded: `method_not_found`, `upstream_failed`, `defect` (an error of the gateway), `not_answered` and `unconfirmed` (the charge
 * could not be confirmed), `replica_died`. Until the call ends: `reserved`. `done` and `refunded`: no word was stored.
 */
export const usageOutcomes = [
  'reserved',
  'answered',
  'cut_off',
  'caller_left',
  'upstream_timeout',
  'upstream_refused',
  'method_not_found',
  'upstream_failed',
  'defect',
  'not_answered',
  'unconfirmed',
  'replica_died',
  'done',
  'refunded',
] as const
export type UsageOutcome = (typeof usageOutcomes)[number]

/** Until the call ends, `outcome` is `reserved`, and status and latency are null. */
export const UsageRecord = z
  .object({
    id: z.int(),
    pricing_plan_id: AccountPlanId,
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
    status_code: z.int().nullable().meta({ description: 'The status of the upstream, if it responded.' }),
    outcome: z
      .enum(usageOutcomes)
      .meta({ description: 'The outcome of the call in one word; `reserved` until it ends.' }),
    latency_ms: z.int().nullable(),
    created_at: z.iso.datetime(),
    key_label: z
      .string()
      .nullable()
      .meta({ description: 'The label of the access key, if the call was made with one.' }),
  })
  .meta({ id: 'UsageRecord', description: 'One paid call.' })
export type UsageRecord = z.infer<typeof UsageRecord>
export const UsagePage = pageOf(UsageRecord)
export type UsagePage = z.infer<typeof UsagePage>

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
    status: z.enum(['received', 'settling', 'settled', 'credited', 'failed', 'disputed']),
    transaction: z.string().nullable(),
    block_number: z.int().nullable(),
    created_at: z.iso.datetime(),
    settled_at: z.iso.datetime().nullable(),
    reversed_at: z.iso
      .datetime()
      .nullable()
      .describe(
        'When the gateway learned that a reorganization of the chain undid it, and the payer keeps the money; its credits stay. Null in any other case.',
      ),
    nonce: z.string().meta({
      description:
        'Tells the signed payment from the payer’s others: the nonce of EIP-3009, or `sequence` and the number on Cosmos.',
    }),
    decimals: z
      .int()
      .nullable()
      .meta({ description: 'Of the asset. Null if the plan is paid in another asset by now.' }),
    display_denom: z.string().nullable().meta({ description: 'The symbol of the asset. Null likewise.' }),
  })
  .meta({
    id: 'PaymentRecord',
    description: 'One payment: `amount` in the asset’s smallest unit, `credits` what it buys.',
  })
export type PaymentHistoryRecord = z.infer<typeof PaymentHistoryRecord>
export const PaymentPage = pageOf(PaymentHistoryRecord)
export type PaymentPage = z.infer<typeof PaymentPage>

export const PaymentPath = WalletPath.extend({
  id: z
    .guid()
    .toLowerCase()
    .meta({ description: 'The `id` of a payment.', examples: ['5b7d9a52-6f0e-4c55-9a55-0d6c7f1c2b3a'] }),
})

export const PaymentStep = z
  .enum(['signed', 'broadcast', 'confirmed', 'credited', 'pending', 'failed'])
  .describe(
    'How far the payment is. `signed`: stored, and sent in a moment. `broadcast`: its transaction is in the network. `confirmed`: settled, and its credits follow. `pending`: its outcome is not known yet.',
  )
export type PaymentStep = z.infer<typeof PaymentStep>

export const PaymentStatusAnswer = PaymentHistoryRecord.extend({
  step: PaymentStep,
  transaction: z.string().nullable().describe('Also before the payment is settled, once it is known.'),
  confirmations: z.int().nullable().describe('Null if the facilitator does not tell.'),
  required_confirmations: z.int().nullable().describe('How many make it settled. Null likewise.'),
  next: z.string().nullable().describe('What the payer does next, in words. Null if there is nothing to do.'),
}).meta({ id: 'PaymentStatus', description: 'One payment, and how far it is.' })
export type PaymentStatusAnswer = z.infer<typeof PaymentStatusAnswer>
