import { z } from 'zod'
import { Amount } from './amount'

/**
 * x402 version 1 between client, resource server and facilitator (https://github.com/coinbase/x402,
 * specs/x402-specification-v1).
 */
const word = (max: number) => z.string().min(1).max(max)

/** What a resource server requires. Unknown members are ignored. */
export const PaymentRequirements = z
  .object({
    scheme: word(32).describe('The payment scheme: `exact`.'),
    network: word(128).describe('The network’s name.'),
    maxAmountRequired: Amount.describe('The exact amount to pay, in the asset’s smallest unit.'),
    resource: z.string().max(2048).describe('The URL that is paid for.'),
    description: z.string().max(4096).describe('A description of the resource.'),
    mimeType: z.string().max(256).nullish().describe('The media type of the resource.'),
    payTo: word(256).describe('The recipient’s address.'),
    maxTimeoutSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .describe('How long the payment may take to complete, in seconds.'),
    asset: word(256).describe('The asset to pay in: a token’s address, or a denomination.'),
    x402Version: z.literal(1).optional(),
    outputSchema: z.record(z.string(), z.unknown()).nullish(),
    extra: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe('For a token, the `name` and `version` of its EIP-712 domain.'),
  })
  .meta({ id: 'PaymentRequirements', description: 'Payment requirements of x402 version 1.' })
export type PaymentRequirements = z.infer<typeof PaymentRequirements>

/**
 * A signed payment; the `X-PAYMENT` header contains it as base64 of JSON. The chain family defines `payload`.
 */
export const PaymentPayload = z
  .object({
    x402Version: z.number().describe('1.'),
    scheme: word(32).describe('The payment scheme: `exact`.'),
    network: word(128).describe('The network’s name.'),
    payload: z
      .union([word(65_536), z.record(z.string(), z.unknown())])
      .describe('The signed payload, in the format of its network; as text, base64 of the same JSON.'),
  })
  .meta({ id: 'PaymentPayload', description: 'A signed payment, as x402 version 1 defines it.' })
export type PaymentPayload = z.infer<typeof PaymentPayload>

export const VerifyRequest = z.object({
  paymentPayload: PaymentPayload,
  paymentRequirements: PaymentRequirements,
})
export type VerifyRequest = z.infer<typeof VerifyRequest>

export const SettleRequest = VerifyRequest.extend({
  x402Version: z.number().optional(),
  extensions: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe(
      'Not of the specification. `bazaar`, as in version 2: the paid URL takes payments of both versions, and is listed for clients of version 2, too.',
    ),
}).meta({
  id: 'PaymentRequest',
  examples: [
    {
      x402Version: 1,
      paymentPayload: {
        x402Version: 1,
        scheme: 'exact',
        network: 'base-sepolia',
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
      paymentRequirements: {
        scheme: 'exact',
        network: 'base-sepolia',
        maxAmountRequired: '10000',
        resource: 'https://shop.example/weather',
        description: 'The weather, now',
        mimeType: 'application/json',
        payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
        maxTimeoutSeconds: 60,
        asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
        extra: { name: 'USDC', version: '2' },
      },
    },
  ],
})
export type SettleRequest = z.infer<typeof SettleRequest>

/** The `Idempotency-Key` header of `/settle`. The resource server chooses one per order. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters')

type ReasonProperties = {
  /** A newer state of the chain could give another result, so the check is repeated on the node with the newest block. */
  dependsOnState?: true
  /** A later attempt may succeed: funds arrive, a token is unpaused, fees fall. The gateway lets the client retry the payment. */
  isTransient?: true
}

/**
 * The x402 version 1 reason codes, `settlement_pending` and `transfer_event_mismatch` of version 2, and our
 * own `fee_allowance_exceeded`: the client (not the payer) has spent its daily network fees.
 */
const reasons = {
  insufficient_funds: { dependsOnState: true, isTransient: true },
  invalid_exact_evm_payload_authorization_valid_after: { isTransient: true },
  invalid_exact_evm_payload_authorization_valid_before: {},
  invalid_exact_evm_payload_authorization_value: {},
  invalid_exact_evm_payload_signature: {},
  invalid_exact_evm_payload_undeployed_smart_wallet: { dependsOnState: true, isTransient: true },
  invalid_exact_evm_payload_recipient_mismatch: {},
  invalid_network: {},
  invalid_payload: {},
  invalid_payment_requirements: { isTransient: true },
  invalid_scheme: {},
  invalid_payment: {},
  payment_expired: {},
  unsupported_scheme: {},
  invalid_x402_version: {},
  invalid_transaction_state: { dependsOnState: true, isTransient: true },
  unexpected_settle_error: { isTransient: true },
  unexpected_verify_error: {},
  duplicate_settlement: {},
  settlement_pending: {},
  fee_allowance_exceeded: { isTransient: true },
  transfer_event_mismatch: {},
} as const satisfies Record<string, ReasonProperties>
export type ReasonCode = keyof typeof reasons

const propertiesOf = (reason: ReasonCode): ReasonProperties => reasons[reason]

export const dependsOnState = (reason: ReasonCode): boolean => propertiesOf(reason).dependsOnState === true

export const transientReasons: readonly ReasonCode[] = (Object.keys(reasons) as ReasonCode[]).filter(
  (reason) => propertiesOf(reason).isTransient,
)

/** Any other value is ignored, so that the response stays readable. */
const Message = z.string().optional().catch(undefined)

/** `payer` is empty if invalid; `invalidReason` is set only then. */
export const VerifyResult = z
  .object({
    isValid: z.boolean(),
    invalidReason: z.string().describe('Empty if the payment is valid.'),
    invalidMessage: Message.describe(
      'Why, in words for people: up to 200 characters of ASCII, where there is more to say.',
    ),
    payer: z.string().describe('Empty if the payment is invalid.'),
    timestamp: z.int().describe('Unix seconds.'),
    cachedResult: z.boolean().describe('Whether this result is from the cache, a few seconds old.'),
  })
  .meta({
    id: 'VerifyResult',
    examples: [
      {
        isValid: true,
        invalidReason: '',
        payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        timestamp: 1_768_478_400,
        cachedResult: false,
      },
    ],
  })
export type VerifyResult = z.infer<typeof VerifyResult>

/**
 * On failure `transaction` and `payer` are empty and `blockNumber` is 0. A pending settlement contains its
 * transaction.
 */
export const SettleResult = z
  .object({
    success: z.boolean(),
    transaction: z
      .string()
      .describe('The transaction’s hash. Empty on failure, but a pending settlement may already have one.'),
    errorReason: z.string().describe('Empty on success.'),
    errorMessage: Message.describe(
      'Why, in words for people: up to 200 characters of ASCII, where there is more to say.',
    ),
    network: z.string(),
    payer: z.string().describe('Empty on failure.'),
    blockNumber: z.int().describe('0 on failure.'),
    timestamp: z.iso.datetime(),
    arrived: z
      .boolean()
      .optional()
      .describe(
        'True if the payment was on chain before it was first presented: it is settled without a transaction of the facilitator, and anyone can read it there. Absent otherwise.',
      ),
  })
  .meta({
    id: 'SettleResult',
    examples: [
      {
        success: true,
        transaction: `0x${'ab'.repeat(32)}`,
        errorReason: '',
        network: 'base-sepolia',
        payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        blockNumber: 1234,
        timestamp: '2026-01-15T12:00:00.000Z',
      },
    ],
  })
export type SettleResult = z.infer<typeof SettleResult>
