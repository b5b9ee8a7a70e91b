import { z } from 'zod'
import { count } from '../query'
import {
  cursorPage,
  exampleAddress,
  exampleAsset,
  exampleTime,
  Moment,
  next,
  nullableTime,
  plainText,
} from './fields'

export const operatorSettlementStates = [
  'open',
  'stuck',
  'claimed',
  'signed',
  'reversed',
  'reversed-final',
  'settled',
  'failed',
  'any',
] as const

const HOURS_OF_YEAR = 24 * 366

export const OperatorSettlementsQuery = z.object({
  state: z.enum(operatorSettlementStates).optional().meta({
    description:
      '`open`, or one of its states `claimed`, `signed` and `reversed`; `stuck`: open more than two minutes after its claim; `reversed-final`: reversed for good; `settled`, `failed`, or `any`, which can be searched. Left out: `any` in a search, else `open`.',
  }),
  transaction: plainText(256).min(1).optional().meta({
    description: 'A search: the hash of any of its transactions, replaced ones too.',
  }),
  payer: plainText(256).min(1).optional().meta({ description: 'A search: the address of its payer.' }),
  from: Moment.optional().meta({
    description: 'A search: claimed at this time or later; a date begins at 00:00 UTC.',
    examples: ['2026-01-31'],
  }),
  to: Moment.optional().meta({
    description: 'A search: claimed at this time or earlier; a date ends at 24:00 UTC.',
    examples: ['2026-01-31T12:00:00Z'],
  }),
  endedWithinHours: count(1, HOURS_OF_YEAR)
    .optional()
    .meta({
      description: 'A search: settled, or failed, within these hours. The newest end comes first.',
      examples: [24],
    }),
  network: plainText(64).min(1).optional().meta({ description: 'Only of the network of this name.' }),
  ...cursorPage(50, 200),
})
export type OperatorSettlementsQuery = z.infer<typeof OperatorSettlementsQuery>

const steps = [
  'wait-for-signature',
  'wait-for-another-attempt',
  'resend-after-reorg',
  'wait-for-block',
  'wait-for-payer-transaction',
  'wait-for-node',
  'wait-for-confirmations',
  'resolve-superseded-transaction',
  'wait-after-reorg',
  'none-settled',
  'none-failed',
  'notify-client-of-reversal',
  'notify-client-of-mismatch',
] as const
export const SettlementNextStep = z
  .enum(steps)
  .describe('What comes next; docs/operate/runbook.md explains each under “Next steps”.')
export type SettlementNextStep = z.infer<typeof SettlementNextStep>

const exampleHash = `0x${'4f'.repeat(32)}`

const shared = {
  id: z.string(),
  network: z.string(),
  state: z.enum(['claimed', 'signed', 'reversed', 'settled', 'failed']),
  ageSeconds: z.number().describe('Since its claim, by the clock of the database.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  payer: z.string(),
  amount: z.string().describe('In the asset’s smallest unit.'),
  symbol: z.string(),
  decimals: z.int(),
  transactionHash: z.string().nullable(),
  attempts: z.int().describe('Broadcasts that failed.'),
  lastError: z.string().nullable().describe('What stopped it when it was last tried.'),
  errorReason: z.string().nullable().describe('Why it failed or was reversed for good.'),
  nextStep: SettlementNextStep,
}
const exampleShared = {
  id: '41',
  network: 'base-sepolia',
  state: 'signed',
  ageSeconds: 192.4,
  createdAt: exampleTime,
  updatedAt: exampleTime,
  payer: exampleAddress,
  amount: '10000',
  symbol: 'USDC',
  decimals: 6,
  transactionHash: exampleHash,
  attempts: 0,
  lastError: null,
  errorReason: null,
  nextStep: 'wait-for-block',
} as const

const exampleListed = {
  ...exampleShared,
  isStuck: true,
  clientId: 'client_5f0c9a4e1b7d2f3a6c8e9b01',
  signer: exampleAddress,
  nonce: 7,
}
export const OperatorSettlement = z
  .object({
    ...shared,
    isStuck: z.boolean().describe('Open more than two minutes after its claim.'),
    clientId: z.string(),
    signer: z.string().nullable().describe('Null if no transaction is signed.'),
    nonce: z.int().nullable().describe('Null also if the payer signed the transaction.'),
  })
  .meta({ id: 'OperatorSettlement', examples: [exampleListed] })
export type OperatorSettlement = z.infer<typeof OperatorSettlement>
export const OperatorSettlementPage = z
  .object({ data: z.object({ settlements: z.array(OperatorSettlement), next }) })
  .meta({ examples: [{ data: { settlements: [exampleListed], next: null } }] })

export const OperatorSettlementPath = z.object({
  id: z
    .string()
    .regex(/^[1-9][0-9]{0,17}$/, 'expected a whole number')
    .meta({ examples: ['41'] }),
})

const exampleDetail = {
  ...exampleShared,
  payTo: exampleAddress,
  asset: exampleAsset,
  paymentNonce: `0x${'9c'.repeat(32)}`,
  client: { id: 'client_5f0c9a4e1b7d2f3a6c8e9b01', title: 'Weather shop', isDeleted: false },
  blockNumber: null,
  retryRequestedAt: null,
  settledAt: null,
  successReportedAt: null,
  fee: '0',
  feeAllocations: [],
  transaction: {
    signer: exampleAddress,
    nonce: 7,
    state: 'signed',
    hash: exampleHash,
    signedAt: exampleTime,
    acceptedAt: exampleTime,
    blockNumber: null,
    fee: null,
    createdAt: exampleTime,
    payments: 1,
    versions: [{ hash: exampleHash, createdAt: exampleTime, fee: null }],
  },
  runbook: 'docs/operate/runbook.md#next-steps',
} as const
const nativeFee = z.string().nullable().describe('In the smallest native unit; null if not mined.')

export const OperatorSettlementDetail = z
  .object({
    ...shared,
    payTo: z.string(),
    asset: z.string(),
    paymentNonce: z.string().describe('What makes the payment unique for its payer.'),
    client: z.object({ id: z.string(), title: z.string(), isDeleted: z.boolean() }),
    blockNumber: z.int().nullable(),
    retryRequestedAt: nullableTime.describe('Until the settler has done it.'),
    settledAt: nullableTime,
    successReportedAt: nullableTime,
    fee: z.string().describe('Its share of all fees so far, in the smallest native unit.'),
    feeAllocations: z
      .array(
        z.object({
          hash: z.string(),
          blockNumber: z.int().nullable(),
          fee: nativeFee,
          share: z.string().describe('The settlement’s part of the fee.'),
          settledIt: z.boolean(),
        }),
      )
      .describe('The mined transactions that it was in.'),
    transaction: z
      .object({
        signer: z.string(),
        nonce: z.int().nullable().describe('Null if the payer signed the transaction.'),
        state: z.enum(['signed', 'mined', 'final', 'superseded']),
        hash: z.string(),
        signedAt: z.iso.datetime(),
        acceptedAt: nullableTime.describe('When a node first accepted the newest version.'),
        blockNumber: z.int().nullable(),
        fee: nativeFee,
        createdAt: z.iso.datetime(),
        payments: z.int().describe('The number of settlements in it.'),
        versions: z
          .array(z.object({ hash: z.string(), createdAt: z.iso.datetime(), fee: nativeFee }))
          .describe('Oldest first; all have its nonce.'),
      })
      .nullable(),
    runbook: z.string().describe('Where the next step is explained.'),
  })
  .meta({ id: 'OperatorSettlementDetail', examples: [exampleDetail] })
export type OperatorSettlementDetail = z.infer<typeof OperatorSettlementDetail>
export const OperatorSettlementReport = z
  .object({ data: OperatorSettlementDetail })
  .meta({ examples: [{ data: exampleDetail }] })

export const RetryCode = z.enum([
  'retried',
  'settled',
  'failed',
  'reversed-final',
  'payer-transaction',
  'completed-meanwhile',
])
export type RetryCode = z.infer<typeof RetryCode>
const exampleRetry = {
  code: 'retried',
  message:
    'its fees are raised now if that helps and the fee limits allow it; if the key of 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC is no longer configured, the transaction is resent as it is',
  settlement: { ...exampleDetail, retryRequestedAt: exampleTime },
} as const
export const OperatorRetryReport = z
  .object({
    data: z.object({
      code: RetryCode.describe('`retried`, or why it was not.'),
      message: z.string().describe('The same in words.'),
      settlement: OperatorSettlementDetail,
    }),
  })
  .meta({ examples: [{ data: exampleRetry }] })
