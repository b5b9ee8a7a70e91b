import { z } from 'zod'
import { Amount } from './amount'

/**
 * The x402 version 1 messages between client, resource server and facilitator
 * (https://github.com/coinbase/x402, specs/x402-specification-v1).
 */
const word = (max: number) => z.string().min(1).max(max)

/** What a resource server asks for. Clients send more members than these; they are passed over. */
export const PaymentRequirements = z
  .object({
    scheme: word(32).describe('How it is paid: `exact`.'),
    network: word(128).describe('The network’s name.'),
    maxAmountRequired: Amount.describe('What to pay, in the asset’s smallest unit: exactly this.'),
    resource: z.string().max(2048).describe('The URL that is paid for.'),
    description: z.string().max(4096).describe('What is bought, for people.'),
    mimeType: z.string().max(256).describe('The media type of what is bought.'),
    payTo: word(256).describe('Whom to pay.'),
    maxTimeoutSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .describe('For how many seconds the payment may be on its way.'),
    asset: word(256).describe('What to pay in: a token’s address, or a denomination.'),
    x402Version: z.literal(1).optional(),
    outputSchema: z.record(z.string(), z.unknown()).nullish(),
    extra: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe('Of a token: `name` and `version` of its EIP-712 domain.'),
  })
  .meta({ id: 'PaymentRequirements', description: 'What to pay, as x402 version 1 says it.' })
export type PaymentRequirements = z.infer<typeof PaymentRequirements>

/** A signed payment. `payload` is what the chain family signs; as text it is base64 of the same JSON. */
export const PaymentPayload = z.object({
  x402Version: z.number(),
  scheme: word(32),
  network: word(128),
  payload: z.union([z.string().min(1).max(65_536), z.record(z.string(), z.unknown())]),
})
export type PaymentPayload = z.infer<typeof PaymentPayload>

export const VerifyRequest = z.object({
  paymentPayload: PaymentPayload,
  paymentRequirements: PaymentRequirements,
})
export type VerifyRequest = z.infer<typeof VerifyRequest>

export const SettleRequest = VerifyRequest.extend({ x402Version: z.number().optional() })
export type SettleRequest = z.infer<typeof SettleRequest>

/** Why a payment is refused: the x402 version 1 reason codes, and `settlement_pending` of version 2. */
export const reasonCodes = [
  'insufficient_funds',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_value',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_undeployed_smart_wallet',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_network',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_scheme',
  'invalid_payment',
  'payment_expired',
  'unsupported_scheme',
  'invalid_x402_version',
  'invalid_transaction_state',
  'unexpected_settle_error',
  'unexpected_verify_error',
  'duplicate_settlement',
  'settlement_pending',
] as const
export type ReasonCode = (typeof reasonCodes)[number]

/** `timestamp` is Unix seconds, UTC. `payer` is empty when invalid, `invalidReason` when valid. */
export const VerifyResult = z.object({
  isValid: z.boolean(),
  invalidReason: z.string(),
  payer: z.string(),
  timestamp: z.int(),
  cachedResult: z.boolean(),
})
export type VerifyResult = z.infer<typeof VerifyResult>

/** `transaction` and `payer` are empty and `blockNumber` 0 on failure; a pending settlement names its transaction. */
export const SettleResult = z.object({
  success: z.boolean(),
  transaction: z.string(),
  errorReason: z.string(),
  network: z.string(),
  payer: z.string(),
  blockNumber: z.int(),
  timestamp: z.iso.datetime(),
})
export type SettleResult = z.infer<typeof SettleResult>

export const NetworkKind = z.object({
  x402Version: z.int(),
  scheme: z.string(),
  network: z.string(),
  status: z.string(),
  block: z.int(),
  feePayer: z.string(),
  extra: z.object({ feePayer: z.string() }).optional(),
})
export type NetworkKind = z.infer<typeof NetworkKind>

export const SupportedKinds = z.object({ kinds: z.array(NetworkKind) })
export type SupportedKinds = z.infer<typeof SupportedKinds>

export const Asset = z.object({
  id: z.int(),
  network: z.string(),
  asset: z.string(),
  symbol: z.string(),
  decimals: z.int(),
  active: z.boolean(),
})
export type Asset = z.infer<typeof Asset>

export const AssetList = z.object({ data: z.array(Asset) })
export type AssetList = z.infer<typeof AssetList>
