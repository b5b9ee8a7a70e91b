import { z } from 'zod'
import { count } from '../query'
import { exampleAddress, exampleAsset, exampleTime, Moment, plainText } from './fields'

export const settlementStates = ['pending', 'settled', 'failed', 'reversed'] as const

export const SETTLEMENT_PAGE = { size: 50, max: 200, maxCsv: 10_000 }

const text = (max: number, description: string) => plainText(max).min(1).optional().meta({ description })

export const SettlementsQuery = z.object({
  state: z.enum(settlementStates).optional(),
  network: text(128, 'A name, chain id or CAIP-2 id.'),
  asset: text(256, 'A token’s address, or a denomination.'),
  payer: text(256, 'An address.'),
  recipient: text(256, 'An address.'),
  resource: text(2_048, 'Exactly as the payment named it.'),
  clientId: text(64, 'One of your client keys, deleted ones too.'),
  transaction: text(256, 'The hash of any of its transactions, replaced ones too.'),
  paymentIdentifier: text(128, 'Of the extension `payment-identifier`.'),
  nonce: text(128, 'The payment’s nonce, of an EVM authorization or a Cosmos account. Requires `payer`.'),
  from: Moment.optional().meta({
    description: 'The first `createdAt`; a date begins at 00:00 UTC.',
    examples: ['2026-01-31'],
  }),
  to: Moment.optional().meta({
    description: 'The last `createdAt`; a date ends at 24:00 UTC.',
    examples: ['2026-01-31T12:00:00Z'],
  }),
  limit: count(1, SETTLEMENT_PAGE.maxCsv)
    .default(SETTLEMENT_PAGE.size)
    .meta({
      description: `The maximum number of records: up to ${SETTLEMENT_PAGE.max}, as CSV up to ${SETTLEMENT_PAGE.maxCsv}.`,
    }),
  cursor: text(64, '`next` of the page before, with the same filters.'),
})
export type SettlementsQuery = z.infer<typeof SettlementsQuery>

const time = z.iso.datetime()
const exampleHash = `0x${'ab'.repeat(32)}`

const fields = {
  id: z.string().describe('Decimal digits.'),
  network: z.string().describe('The network’s name.'),
  asset: z.string(),
  symbol: z.string(),
  decimals: z.int(),
  amount: z.string().describe('In the asset’s smallest unit.'),
  payer: z.string(),
  recipient: z.string(),
  resource: z
    .string()
    .nullable()
    .describe('What was paid for, as the request named it. Null if it named nothing.'),
  paymentIdentifier: z
    .string()
    .nullable()
    .describe('Of the extension `payment-identifier`, which x402 version 2 has.'),
  clientId: z.string().describe('The client key that settled it.'),
  state: z
    .enum(settlementStates)
    .describe(
      '`pending`: not complete. `reversed`: settled, then dropped by a reorganization of its chain; without a `reason` it is sent again.',
    ),
  reason: z.string().nullable().describe('Why it failed or is reversed for good.'),
  detail: z.string().nullable().describe('The same in words for people, in ASCII.'),
  transaction: z.string().nullable().describe('The hash of its newest transaction.'),
  block: z.int().nullable(),
  fee: z
    .string()
    .describe(
      'Its share of the network fees, failed transactions too, in the network’s native smallest unit.',
    ),
  createdAt: time.describe('When it was first claimed. Never changes.'),
  updatedAt: time,
  settledAt: time.nullable(),
  endedAt: time.nullable().describe('Null while it is pending.'),
  nonce: z
    .string()
    .optional()
    .describe(
      'The payment’s nonce, of an EVM authorization or a Cosmos account: unique for network, asset and payer. Older facilitators leave it out.',
    ),
}

const exampleSettlement = {
  id: '42',
  network: 'base-sepolia',
  asset: exampleAsset,
  symbol: 'USDC',
  decimals: 6,
  amount: '10000',
  payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  recipient: exampleAddress,
  resource: 'https://shop.example/weather',
  paymentIdentifier: null,
  clientId: 'client_5f0c9a4e1b7d2f3a6c8e9b01',
  state: 'settled' as const,
  reason: null,
  detail: null,
  transaction: exampleHash,
  block: 1234,
  fee: '82000000000',
  createdAt: exampleTime,
  updatedAt: '2026-01-15T12:00:02.400Z',
  settledAt: '2026-01-15T12:00:02.100Z',
  endedAt: '2026-01-15T12:00:02.100Z',
  nonce: `0x${'0d'.repeat(32)}`,
}

export const Settlement = z.object(fields).meta({ id: 'Settlement', examples: [exampleSettlement] })
export type Settlement = z.infer<typeof Settlement>

export const SettlementPage = z
  .object({
    data: z.object({
      settlements: z.array(Settlement),
      next: z.string().nullable().describe('The `cursor` of the next page; null on the last one.'),
    }),
  })
  .meta({ examples: [{ data: { settlements: [exampleSettlement], next: null } }] })
export type SettlementPage = z.infer<typeof SettlementPage>

export const SettlementPath = z.object({
  id: plainText(256)
    .min(1)
    .meta({
      description: 'Its `id`, its payment identifier, or the hash of any of its transactions.',
      examples: [exampleSettlement.id],
    }),
})

const transactionFields = {
  hash: z.string(),
  state: z
    .enum(['pending', 'mined', 'final', 'replaced', 'superseded'])
    .describe(
      '`replaced`: sent again with higher fees. `superseded`: it can no longer be mined, because another transaction used its nonce. `final`: too deep for a reorganization.',
    ),
  signer: z.string().nullable().describe('Null if the payer or a third party signed it.'),
  nonce: z.string().nullable().describe('The signer’s; null likewise.'),
  signedAt: time.nullable().describe('Null if a third party signed it.'),
  acceptedAt: time.nullable().describe('When a node first accepted it.'),
  block: z.int().nullable(),
  fee: z
    .string()
    .nullable()
    .describe('The settlement’s share of its fee, in the native smallest unit; null if it is not mined.'),
}
export const SettlementTransaction = z
  .object(transactionFields)
  .meta({ id: 'SettlementTransaction', description: 'One version of a transaction of a settlement.' })
export type SettlementTransaction = z.infer<typeof SettlementTransaction>

export const settlementEvents = [
  'claimed',
  'signed',
  'replaced',
  'accepted',
  'settled',
  'reported',
  'failed',
  'reversed',
] as const
export type SettlementEvent = (typeof settlementEvents)[number]

export const SettlementDetails = z
  .object({
    ...fields,
    confirmations: z
      .int()
      .nullable()
      .describe('The newest known block minus its block, plus 1; null without a block, or if none is known.'),
    requiredConfirmations: z
      .int()
      .nullable()
      .describe('How many make it settled; null if the network is no longer configured.'),
    transactions: z
      .array(SettlementTransaction)
      .describe('Every version of every transaction, oldest first.'),
    timeline: z
      .array(z.object({ at: time, event: z.enum(settlementEvents) }))
      .describe('Oldest first. `reported`: when `/settle` answered with success.'),
  })
  .meta({ id: 'SettlementDetails' })
export type SettlementDetails = z.infer<typeof SettlementDetails>

export const SettlementAnswer = z.object({ data: SettlementDetails }).meta({
  examples: [
    {
      data: {
        ...exampleSettlement,
        confirmations: 12,
        requiredConfirmations: 1,
        transactions: [
          {
            hash: exampleHash,
            state: 'final',
            signer: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
            nonce: '17',
            signedAt: '2026-01-15T12:00:00.020Z',
            acceptedAt: '2026-01-15T12:00:00.050Z',
            block: 1234,
            fee: '82000000000',
          },
        ],
        timeline: [
          { at: exampleTime, event: 'claimed' },
          { at: '2026-01-15T12:00:00.020Z', event: 'signed' },
          { at: '2026-01-15T12:00:00.050Z', event: 'accepted' },
          { at: '2026-01-15T12:00:02.100Z', event: 'settled' },
          { at: '2026-01-15T12:00:02.400Z', event: 'reported' },
        ],
      },
    },
  ],
})
export type SettlementAnswer = z.infer<typeof SettlementAnswer>
