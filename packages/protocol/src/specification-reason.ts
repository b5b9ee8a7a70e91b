import { type Ecosystem } from './networks'
import { type ReasonCode } from './x402'

type Version = 1 | 2

/** Codes that the specification does not list, and how a code differs between its versions or ecosystems. */
type Spelling = { to?: string; v2?: string; cosmos?: string }

/**
 * Section 9 of both specifications, and `duplicate_settlement` and `settlement_pending`, which the public packages
 * add: https://github.com/coinbase/x402, specs/x402-specification-v1 and -v2.
 */
const spellings: Record<ReasonCode, Spelling> = {
  insufficient_funds: {},
  invalid_exact_evm_payload_authorization_valid_after: {},
  invalid_exact_evm_payload_authorization_valid_before: {},
  invalid_exact_evm_payload_authorization_value: {
    v2: 'invalid_exact_evm_payload_authorization_value_mismatch',
  },
  invalid_exact_evm_payload_signature: {},
  invalid_exact_evm_payload_undeployed_smart_wallet: { to: 'invalid_exact_evm_payload_signature' },
  invalid_exact_evm_payload_recipient_mismatch: {},
  invalid_network: {},
  invalid_payload: {},
  invalid_payment_requirements: {},
  invalid_scheme: {},
  invalid_payment: { to: 'invalid_payload' },
  payment_expired: {
    to: 'invalid_exact_evm_payload_authorization_valid_before',
    cosmos: 'invalid_transaction_state',
  },
  unsupported_scheme: {},
  invalid_x402_version: {},
  invalid_transaction_state: {},
  unexpected_settle_error: {},
  unexpected_verify_error: {},
  duplicate_settlement: {},
  settlement_pending: {},
  fee_allowance_exceeded: { to: 'unexpected_settle_error' },
  transfer_event_mismatch: { to: 'invalid_transaction_state' },
}

/**
 * The specification's code for a reason, as a 402 states it. `reason` is a `ReasonCode` or what a facilitator says;
 * anything else is an unexpected error.
 */
export function specificationReason(
  reason: string,
  { version, ecosystem = 'evm' }: { version: Version; ecosystem?: Ecosystem },
): string {
  if (reason === spellings.invalid_exact_evm_payload_authorization_value.v2)
    return version === 2 ? reason : 'invalid_exact_evm_payload_authorization_value'
  if (!isReasonCode(reason)) return 'unexpected_settle_error'
  const { to, v2, cosmos } = spellings[reason]
  return (ecosystem === 'cosmos' ? cosmos : undefined) ?? (version === 2 ? v2 : undefined) ?? to ?? reason
}

export const isReasonCode = (text: string): text is ReasonCode => Object.hasOwn(spellings, text)
