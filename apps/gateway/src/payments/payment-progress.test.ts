import { progressOf, type FoundSettlement } from './payment-progress'
import { type PaymentStatus } from './payment-record'

const TRANSACTION = `0x${'ab'.repeat(32)}`
const OTHER = `0x${'cd'.repeat(32)}`

const found = (changes: Partial<FoundSettlement> = {}): FoundSettlement => ({
  state: 'pending',
  reason: null,
  transaction: TRANSACTION,
  confirmations: null,
  requiredConfirmations: 3,
  transactions: [],
  ...changes,
})
const accepted = { acceptedAt: '2026-01-15T12:00:00.000Z', block: null }
const mined = { ...accepted, block: 7 }

const unreversed = { transaction: null, errorReason: null, isReversed: false }

type Row = [
  status: PaymentStatus,
  known: { transaction?: string; errorReason?: string; isReversed?: boolean },
  settlement: FoundSettlement | undefined,
  step: string,
  next: RegExp | null,
]

test.each<Row>([
  ['received', {}, undefined, 'signed', /^Wait: .*do not sign again/],
  ['settling', {}, undefined, 'signed', /^Wait: the payment is being settled; do not sign again/],
  ['settling', {}, found(), 'signed', /^Wait/],
  ['settling', {}, found({ transactions: [{ acceptedAt: null, block: null }] }), 'signed', /^Wait/],
  [
    'settling',
    {},
    found({ transactions: [accepted] }),
    'broadcast',
    /^Wait: the network has not confirmed the transaction yet; do not sign again/,
  ],
  [
    'settling',
    {},
    found({ transactions: [mined], confirmations: 1 }),
    'broadcast',
    /^Wait: the transaction has 1 of 3 confirmations; do not sign again/,
  ],
  ['settling', {}, found({ state: 'settled', confirmations: 3 }), 'confirmed', /credits follow/],
  ['settling', {}, found({ state: 'failed' }), 'pending', /^Wait: .*do not sign again/],
  [
    'settling',
    {},
    found({ state: 'failed', reason: 'payment_expired' }),
    'failed',
    /expired.*sign a new payment/,
  ],
  ['settling', {}, found({ state: 'reversed' }), 'pending', /^Wait: .*sent again; do not sign again/],
  ['settling', { transaction: TRANSACTION }, undefined, 'broadcast', /^Wait: the network has not confirmed/],
  [
    'settling',
    { errorReason: 'settlement_pending' },
    undefined,
    'pending',
    /^Wait: .*not known yet; do not sign/,
  ],
  [
    'settling',
    { errorReason: 'facilitator_unavailable' },
    undefined,
    'pending',
    /^Wait: the facilitator does not/,
  ],
  ['settling', { errorReason: 'facilitator_busy' }, undefined, 'pending', /^Wait: many payments/],
  [
    'settling',
    { errorReason: 'facilitator_unavailable' },
    found({ transactions: [accepted] }),
    'broadcast',
    /^Wait/,
  ],
  ['settled', {}, undefined, 'confirmed', /credits follow in a moment; do not sign again/],
  ['credited', {}, undefined, 'credited', null],
  ['credited', {}, found({ state: 'reversed' }), 'credited', null],
  ['credited', { isReversed: true }, undefined, 'credited', /^Nothing: .*The credits stay/],
  ['disputed', { errorReason: 'transfer_event_mismatch' }, undefined, 'pending', /^Do not pay again/],
  ['failed', {}, undefined, 'failed', /was not taken\. Sign a new payment/],
  ['failed', { errorReason: 'insufficient_funds' }, undefined, 'failed', /Add funds/],
  ['failed', { errorReason: 'payment_expired' }, undefined, 'failed', /expired.*sign a new payment/],
  ['failed', { errorReason: 'duplicate_settlement' }, undefined, 'failed', /was used before/],
  ['failed', { errorReason: 'transfer_event_mismatch' }, undefined, 'failed', /Ask the operator/],
  ['failed', { errorReason: 'constructor' }, undefined, 'failed', /was not taken/],
])('%s, known %j, the facilitator tells %j: %s', (status, known, settlement, step, next) => {
  const payment = { ...unreversed, status, ...known }
  const progress = progressOf(payment, settlement)
  expect(progress.step).toBe(step)
  if (next === null) expect(progress.next).toBeNull()
  else expect(progress.next).toMatch(next)
})

test('names the transaction of the gateway, else that of the facilitator, and its confirmations', () => {
  const payment = { ...unreversed, status: 'settling' as const }
  expect(progressOf(payment, undefined)).toMatchObject({
    transaction: null,
    confirmations: null,
    required_confirmations: null,
  })
  const settlement = found({ confirmations: 2, transactions: [mined] })
  expect(progressOf(payment, settlement)).toMatchObject({
    transaction: TRANSACTION,
    confirmations: 2,
    required_confirmations: 3,
  })
  expect(progressOf({ ...payment, transaction: OTHER }, settlement).transaction).toBe(OTHER)
})
