import { z } from 'zod'
import { Amount } from './amount'

/**
 * x402 version 2 between resource server and facilitator (https://github.com/coinbase/x402,
 * specs/x402-specification-v2). Networks are CAIP-2 ids, such as `eip155:84532`.
 */
const word = (max: number) => z.string().min(1).max(max)

const exampleRequirements = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

export const PaymentRequirementsV2 = z
  .object({
    scheme: word(32).describe('The payment scheme: `exact`.'),
    network: word(128).describe('The network, as CAIP-2.'),
    amount: Amount.describe('The exact amount to pay, in the asset’s smallest unit.'),
    asset: word(256).describe('The asset to pay in: a token’s address, or a denomination.'),
    payTo: word(256).describe('The recipient’s address.'),
    maxTimeoutSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .describe('How long the payment may take to complete, in seconds.'),
    extra: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe(
        'For a token, the `name` and `version` of its EIP-712 domain. On a Cosmos network `feePayer`, where somebody pays the fee of a payment that names it as `fee.granter`; with `feePayerSigns` also as `fee.payer`.',
      ),
  })
  .meta({
    id: 'PaymentRequirementsV2',
    description: 'Payment requirements of x402 version 2.',
    examples: [exampleRequirements],
  })
export type PaymentRequirementsV2 = z.infer<typeof PaymentRequirementsV2>

const ResourceInfo = z.object({
  url: z.string().max(2048).describe('The URL that is paid for.'),
  description: z.string().max(4096).nullish(),
  mimeType: z.string().max(256).nullish(),
})

/** A 402 response, sent in the header `PAYMENT-REQUIRED` as base64 of JSON. */
export const PaymentRequiredV2 = z
  .object({
    x402Version: z.literal(2),
    error: z.string().max(128).optional().describe('The reason code.'),
    resource: ResourceInfo,
    accepts: z.array(PaymentRequirementsV2).min(1).describe('The payment options.'),
    extensions: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('By the name of a protocol extension, `info` and the `schema` of what a client may return.'),
  })
  .meta({ id: 'PaymentRequiredV2', description: 'A 402 response of x402 version 2.' })
export type PaymentRequiredV2 = z.infer<typeof PaymentRequiredV2>

export const PaymentPayloadV2 = z
  .object({
    x402Version: z.literal(2),
    resource: ResourceInfo.nullish(),
    accepted: PaymentRequirementsV2.describe(
      'What the payer agreed to; it must match the payment requirements.',
    ),
    payload: z
      .union([word(65_536), z.record(z.string(), z.unknown())])
      .describe('The signed payload, in the format of its network.'),
    extensions: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe('For a payment by Permit2, `eip2612GasSponsoring` may contain the token’s own permit.'),
  })
  .meta({ id: 'PaymentPayloadV2', description: 'A signed payment, as x402 version 2 defines it.' })
export type PaymentPayloadV2 = z.infer<typeof PaymentPayloadV2>

export const SettleRequestV2 = z
  .object({
    x402Version: z.literal(2).optional(),
    paymentPayload: PaymentPayloadV2,
    paymentRequirements: PaymentRequirementsV2,
  })
  .meta({
    id: 'PaymentRequestV2',
    examples: [
      {
        x402Version: 2,
        paymentPayload: {
          x402Version: 2,
          resource: { url: 'https://shop.example/weather' },
          accepted: exampleRequirements,
          payload: {
            signature: `0x${'ab'.repeat(65)}`,
            authorization: {
              from: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
              to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
              value: '10000',
              validAfter: '1768478300',
              validBefore: '1768478460',
              nonce: `0x${'cd'.repeat(32)}`,
            },
          },
        },
        paymentRequirements: exampleRequirements,
      },
    ],
  })
export type SettleRequestV2 = z.infer<typeof SettleRequestV2>

const exampleKindV2 = { x402Version: 2, scheme: 'exact', network: 'eip155:84532' }

export const SupportedKindsV2 = z
  .object({
    kinds: z.array(
      z.object({
        x402Version: z.literal(2),
        scheme: z.string().describe('The payment scheme: `exact`.'),
        network: z.string().describe('The network, as CAIP-2.'),
        extra: z
          .record(z.string(), z.unknown())
          .optional()
          .describe(
            '`feePayer`, if the signed payment must name the fee payer; `feePayerSigns`, if that may sign too.',
          ),
      }),
    ),
    extensions: z
      .array(z.string())
      .describe('The protocol extensions that at least one network supports: `eip2612GasSponsoring`.'),
    signers: z
      .record(z.string(), z.array(z.string()))
      .describe('By network, the addresses that send settlements and pay their fees.'),
  })
  .meta({
    id: 'SupportedKindsV2',
    examples: [
      {
        kinds: [exampleKindV2],
        extensions: ['eip2612GasSponsoring'],
        signers: { 'eip155:84532': ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'] },
      },
    ],
  })
export type SupportedKindsV2 = z.infer<typeof SupportedKindsV2>
