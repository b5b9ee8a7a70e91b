import { z } from 'zod'
import { Amount } from '../amount'
import { Ecosystem } from '../networks'
import { PaymentRequirements } from '../x402'
import { text } from './fields'

/** `payload` is the upstream's request body (for a GET its query); an array is a JSON-RPC batch. */
export const RpcRequest = z
  .object({
    ecosystem: Ecosystem.describe('The ecosystem of the called chain.'),
    chain_id: text(64).describe('The called chain; see `GET /providers`.'),
    resource: z
      .string()
      .max(2048)
      .meta({
        description:
          'The path below the provider’s base URL, with a query if it needs one; empty for the base URL itself. A path that could lead out of it is refused, percent-encoded too. In a query any octet may be percent-encoded but a line break.',
        not: {
          pattern:
            '^[a-zA-Z][a-zA-Z0-9+.\\-]*:|^[^?]*(//|[\\\\@ ])|^([^?]*[/;])?\\.{1,2}([/;?]|$)|[#\\u0000-\\u001f\\u007f-\\u009f]',
        },
      }),
    method: z
      .enum(['GET', 'POST'])
      .describe(
        'How the provider is asked. A `GET` sends no body: the members of `payload` become its query.',
      ),
    transport: z.enum(['rpc', 'rest']).describe('Selects the provider’s base URLs.'),
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

/**
 * The response to a call by a plain URL without credentials. The members after `message` are those of x402
 * version 1.
 */
export const PaymentChoice = z
  .object({
    status: z.literal(402),
    message: z.string().describe('What is sold and how to pay, for display.'),
    x402Version: z.literal(1).optional(),
    error: z.string().optional().describe('For x402 clients: the reason code.'),
    accepts: z
      .array(PaymentRequirements)
      .optional()
      .describe(
        'For clients of x402 version 1: one entry for each plan that they can pay. Omitted if there is none. The header `PAYMENT-REQUIRED` has all.',
      ),
  })
  .meta({
    id: 'PaymentChoice',
    description: 'What can be paid for a call without credentials.',
    examples: [
      {
        status: 402,
        message: 'Calls to this chain are sold in bundles of credits',
        x402Version: 1,
        error: 'X-PAYMENT header is required',
        accepts: [
          {
            scheme: 'exact',
            network: 'base-sepolia',
            maxAmountRequired: '10000',
            resource: 'https://gateway.example/v1/eip155:84532',
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
export type PaymentChoice = z.infer<typeof PaymentChoice>

/** The `paymentRequirements` of a 402. Unlike in x402, `network` contains the plan's chain id. */
export const PlanPaymentRequirements = z
  .object({
    scheme: z.literal('exact'),
    network: z.string().describe('The chain id of the plan.'),
    asset: z.string().describe('The asset to pay in: a token’s address, or a denomination.'),
    maxAmountRequired: Amount.describe('The exact amount to pay, in the asset’s smallest unit.'),
    mimeType: z.literal('application/json'),
    payTo: z.string().describe('The recipient’s address.'),
    maxTimeoutSeconds: z.int().describe('How long the payment may take to complete, in seconds.'),
    description: z.string().describe('A description of the purchase.'),
  })
  .meta({
    id: 'PlanPaymentRequirements',
    description: 'The payment requirements in the gateway’s format.',
  })
export type PlanPaymentRequirements = z.infer<typeof PlanPaymentRequirements>

/**
 * The response to a call without credits, and to a purchase without a payment. The members after `paymentRequirements` are those of x402 version
 * 1.
 */
export const PaymentRequired = z
  .object({
    status: z.literal(402),
    message: z.string().describe('The reason and the next step, for display.'),
    paymentRequirements: PlanPaymentRequirements,
    x402Version: z.literal(1).optional(),
    error: z.string().optional().describe('For x402 clients: the reason code.'),
    accepts: z
      .array(PaymentRequirements)
      .optional()
      .describe('For x402 clients: the payment options. Omitted for networks unknown to version 1.'),
  })
  .meta({
    id: 'PaymentRequired',
    description:
      'No credits for this call, or no payment for this purchase. `paymentRequirements` says what to pay; beside it stand the members of x402 version 1, so that its clients pay by themselves.',
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
