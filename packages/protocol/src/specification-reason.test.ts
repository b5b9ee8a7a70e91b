import { specificationReason } from './specification-reason'
import { type ReasonCode } from './x402'

const common = [
  'insufficient_funds',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_network',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_scheme',
  'unsupported_scheme',
  'invalid_x402_version',
  'invalid_transaction_state',
  'unexpected_verify_error',
  'unexpected_settle_error',
]
/** Of scheme_exact_svm and of `@x402/core`. */
const ofPackages = ['duplicate_settlement', 'settlement_pending']

const specified: Record<1 | 2, ReadonlySet<string>> = {
  1: new Set([...common, ...ofPackages, 'invalid_exact_evm_payload_authorization_value']),
  2: new Set([...common, ...ofPackages, 'invalid_exact_evm_payload_authorization_value_mismatch']),
}

const before = 'invalid_exact_evm_payload_authorization_valid_before'
const value = 'invalid_exact_evm_payload_authorization_value'

/** By our code: version 1, version 2, and version 2 on a Cosmos network. */
const table: Record<ReasonCode, [v1: string, v2: string, cosmos: string]> = {
  ...(Object.fromEntries(
    [...common, ...ofPackages].map((reason) => [reason, [reason, reason, reason]]),
  ) as unknown as Record<ReasonCode, [string, string, string]>),
  invalid_exact_evm_payload_authorization_value: [value, `${value}_mismatch`, `${value}_mismatch`],
  invalid_exact_evm_payload_undeployed_smart_wallet: [
    'invalid_exact_evm_payload_signature',
    'invalid_exact_evm_payload_signature',
    'invalid_exact_evm_payload_signature',
  ],
  invalid_payment: ['invalid_payload', 'invalid_payload', 'invalid_payload'],
  payment_expired: [before, before, 'invalid_transaction_state'],
  fee_allowance_exceeded: ['unexpected_settle_error', 'unexpected_settle_error', 'unexpected_settle_error'],
  transfer_event_mismatch: [
    'invalid_transaction_state',
    'invalid_transaction_state',
    'invalid_transaction_state',
  ],
}

test.each(Object.entries(table))('%s', (reason, [v1, v2, cosmos]) => {
  expect([
    specificationReason(reason, { version: 1 }),
    specificationReason(reason, { version: 2, ecosystem: 'evm' }),
    specificationReason(reason, { version: 2, ecosystem: 'cosmos' }),
  ]).toEqual([v1, v2, cosmos])
  expect(specified[1].has(v1) && specified[2].has(v2) && specified[2].has(cosmos)).toBe(true)
})

test('a reason of version 2 is translated to version 1', () => {
  expect(specificationReason(`${value}_mismatch`, { version: 1 })).toBe(value)
  expect(specificationReason(`${value}_mismatch`, { version: 2 })).toBe(`${value}_mismatch`)
})

test.each(['', 'toString', '__proto__', 'the payer is not the wallet', 'é', 'x'.repeat(10_000)])(
  'any other text (%#) is an unexpected error',
  (reason) => {
    for (const version of [1, 2] as const)
      expect(specificationReason(reason, { version })).toBe('unexpected_settle_error')
  },
)
