import {
  ChainPath,
  CreditBalance,
  HistoryQuery,
  PayerAccountAnswer,
  PayerAccountRequest,
  PaymentPage,
  PaymentPath,
  PaymentsQuery,
  PaymentStatusAnswer,
  UsageAnswer,
  UsagePage,
  UsageQuery,
  WalletPath,
} from '@tollgate/protocol'
import { type HeaderDescription, type Operation } from '@tollgate/service'
import { z } from 'zod'
import { refusals } from './errors'

const tag = 'Accounts'

const errors = {
  INVALID_REQUEST: 'The address is no wallet of an ecosystem served here, or a query field is wrong.',
  ...refusals.limited,
}

const csv =
  'With `Accept: text/csv` the same records come as CSV, up to 10,000, with a header line; each 100 of them count as a request. Text that a spreadsheet would run as a formula begins with an apostrophe.'
const csvHeaders: Record<string, HeaderDescription> = {
  Link: {
    description: 'Of CSV: `<…>; rel="next"` if there are more records.',
    schema: z.string().meta({ examples: ['</history/0x7099…79C8?limit=10000&before=41>; rel="next"'] }),
  },
}

const examplePayment = {
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
  reversed_at: null,
  nonce: `0x${'cd'.repeat(32)}`,
  decimals: 6,
  display_denom: 'USDC',
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
    description: csv,
    pathParameters: WalletPath,
    query: HistoryQuery,
    answers: {
      200: {
        description: 'One page of calls.',
        headers: csvHeaders,
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
    description: csv,
    pathParameters: WalletPath,
    query: PaymentsQuery,
    answers: {
      200: {
        description: 'One page of payments.',
        headers: csvHeaders,
        schema: PaymentPage,
        examples: {
          page: {
            data: [examplePayment],
            pagination: { limit: 30, offset: 0, total: 1 },
          },
        },
      },
    },
    errors,
  },
  {
    id: 'getPayment',
    method: 'get',
    path: '/payments/{wallet}/{id}',
    tag,
    summary: 'Get a payment of a wallet, and how far it is.',
    description:
      'Ask again every second while the payment is shown: a payment that is not credited or failed goes on by itself.',
    pathParameters: PaymentPath,
    answers: {
      200: {
        description: 'The payment.',
        schema: PaymentStatusAnswer,
        examples: {
          broadcast: {
            ...examplePayment,
            status: 'settling',
            block_number: null,
            settled_at: null,
            step: 'broadcast',
            confirmations: 1,
            required_confirmations: 3,
            next: 'Wait: the transaction has 1 of 3 confirmations; do not sign again.',
          },
          credited: {
            ...examplePayment,
            step: 'credited',
            confirmations: 12,
            required_confirmations: 3,
            next: null,
          },
        },
      },
    },
    errors: { ...errors, NOT_FOUND: 'The wallet has no such payment.' },
  },
  {
    id: 'getUsage',
    method: 'get',
    path: '/usage/{wallet}',
    tag,
    summary: 'Sum a wallet’s calls and credits by hour or day, chain and method.',
    description:
      'Exact, and up to date with the last call. The sums of days are kept for 25 months by default, those of hours as long as the calls.',
    pathParameters: WalletPath,
    query: UsageQuery,
    answers: {
      200: {
        description: 'The sums, by time. A period, chain or method without calls is left out.',
        schema: UsageAnswer,
        examples: {
          day: {
            data: [
              {
                period: '2026-01-15T00:00:00.000Z',
                chain_id: '84532',
                rpc_method: 'eth_call',
                calls: 1200,
                credits: 1197,
                failed: 3,
              },
            ],
            from: '2026-01-15T00:00:00.000Z',
            to: '2026-01-16T00:00:00.000Z',
            interval: 'day',
          },
        },
      },
    },
    errors: {
      ...errors,
      UNAVAILABLE: 'The totals of the wallet are being computed; try again after `Retry-After`.',
    },
  },
  {
    id: 'readPayerAccount',
    method: 'post',
    path: '/accounts/{chain}',
    tag,
    summary: 'Read what a payment needs from a node of a Cosmos chain.',
    description:
      'For pages that may connect to this service only: the account’s number and sequence, the newest block and the prices of gas, as a CometBFT node answers for them. Free of charge. The SDK takes this URL as a node.',
    pathParameters: ChainPath,
    body: { schema: PayerAccountRequest },
    answers: { 200: { description: 'The answer of a node.', schema: PayerAccountAnswer } },
    errors: {
      INVALID_REQUEST: 'The request is none of those that are forwarded.',
      ...refusals.limited,
      NOT_FOUND: 'No provider serves the RPC of a Cosmos chain of this name.',
      UPSTREAM_FAILED: 'No node of the chain answered.',
      OVERLOADED: 'Too many accounts are being read.',
    },
  },
]
