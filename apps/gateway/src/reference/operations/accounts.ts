import {
  CreditBalance,
  HistoryQuery,
  PaymentPage,
  PaymentsQuery,
  UsagePage,
  WalletPath,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'
import { refusals } from './errors'

const tag = 'Accounts'

const errors = {
  INVALID_REQUEST: 'The address is no wallet of an ecosystem served here, or a query field is wrong.',
  ...refusals.limited,
}

export const accountOperations: Operation[] = [
  {
    id: 'getCredits',
    method: 'get',
    path: '/credits/{wallet}',
    tag,
    summary: 'Get a wallet’s balance on each plan.',
    pathParameters: WalletPath,
    answers: {
      200: {
        description: 'The balances; empty for a wallet that never bought.',
        schema: z.array(CreditBalance).meta({ examples: [[{ pricing_plan_id: 1, remaining_credits: 99 }]] }),
      },
    },
    errors,
  },
  {
    id: 'listCalls',
    method: 'get',
    path: '/history/{wallet}',
    tag,
    summary: 'List a wallet’s calls, newest first.',
    pathParameters: WalletPath,
    query: HistoryQuery,
    answers: {
      200: {
        description: 'One page of calls.',
        schema: UsagePage,
        examples: {
          page: {
            data: [
              {
                id: 41,
                pricing_plan_id: 1,
                provider_id: 'base-sepolia-main',
                ecosystem: 'evm',
                chain_id: '84532',
                transport: 'rpc',
                method: 'POST',
                resource: '',
                rpc_method: 'eth_blockNumber',
                credits: 1,
                status_code: 200,
                outcome: 'answered',
                latency_ms: 38,
                created_at: '2026-01-15T12:05:00.000Z',
                key_label: null,
              },
            ],
            pagination: { limit: 20, offset: 0, total: 1 },
          },
        },
      },
    },
    errors,
  },
  {
    id: 'listPayments',
    method: 'get',
    path: '/payments/{wallet}',
    tag,
    summary: 'List a wallet’s payments, newest first.',
    pathParameters: WalletPath,
    query: PaymentsQuery,
    answers: {
      200: {
        description: 'One page of payments.',
        schema: PaymentPage,
        examples: {
          page: {
            data: [
              {
                id: '5b7d9a52-6f0e-4c55-9a55-0d6c7f1c2b3a',
                pricing_plan_id: 1,
                network: 'base-sepolia',
                chain_id: '84532',
                asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
                amount: '10000',
                payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
                pay_to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
                credits: 100,
                status: 'credited',
                transaction: `0x${'ab'.repeat(32)}`,
                block_number: 1234,
                created_at: '2026-01-15T12:04:00.000Z',
                settled_at: '2026-01-15T12:04:02.000Z',
              },
            ],
            pagination: { limit: 30, offset: 0, total: 1 },
          },
        },
      },
    },
    errors,
  },
]
