import { type Payment, type Refusal } from '@tollgate/chains'
import {
  decideAnswer,
  decideClaim,
  isReclaimable,
  isRepeat,
  isSamePayment,
  type Answer,
} from './settle-decisions'
import { type KeyRelation } from './store'

const requestHash = Buffer.from('request')
const otherHash = Buffer.from('other request')
const refusal: Refusal = { reason: 'insufficient_funds', detail: '' }

describe('a request repeats the one that claimed the settlement', () => {
  const key = 'order-1'
  const reported = new Date()
  test.each<[string, KeyRelation, { hash?: Buffer; key?: string | null; reportedAt?: Date | null }, boolean]>(
    [
      ['with the same client key', 'same', {}, true],
      ['with the same client key and no Idempotency-Key', 'same', { key: null }, true],
      ['with other requirements', 'same', { hash: otherHash }, false],
      ['with a key that replaces a deleted one', 'replaced', { key: null, reportedAt: reported }, true],
      ['with a replacing key and other requirements', 'replaced', { hash: otherHash }, false],
      ['with another valid key of the user and the Idempotency-Key', 'same-user', {}, true],
      ['with another valid key after success was reported', 'same-user', { reportedAt: reported }, false],
      ['with another valid key and another Idempotency-Key', 'same-user', { key: 'order-2' }, false],
      ['with another valid key and no Idempotency-Key', 'same-user', { key: null }, false],
      ['with the key of another user', 'unrelated', {}, false],
    ],
  )('%s', (_, keyRelation, changes, expected) => {
    const settlement = {
      clientId: 'client_1',
      requestHash,
      idempotencyKey: key,
      successReportedAt: changes.reportedAt ?? null,
    }
    const idempotencyKey = changes.key === undefined ? key : changes.key
    const requester = { clientId: 'client_2', requestHash: changes.hash ?? requestHash, idempotencyKey }
    expect(isRepeat(settlement, requester, keyRelation)).toBe(expected)
  })

  test('two requests without an Idempotency-Key do not share one', () => {
    const settlement = { clientId: 'client_1', requestHash, idempotencyKey: null, successReportedAt: null }
    expect(isRepeat(settlement, settlement, 'same-user')).toBe(false)
  })
})

describe('a settlement can be reclaimed', () => {
  const failed = { status: 'failed', errorReason: 'insufficient_funds', idempotencyKey: 'order-1' } as const
  test.each<[string, Partial<Parameters<typeof isReclaimable>[0]>, string | null, boolean, boolean]>([
    ['once it failed', {}, null, true, true],
    ['by another request under its Idempotency-Key', {}, 'order-1', false, true],
    ['not by a repeat under its Idempotency-Key', {}, 'order-1', true, false],
    ['not if it moved another amount', { errorReason: 'transfer_event_mismatch' }, null, true, false],
    ['not while it is claimed', { status: 'claimed', errorReason: null }, null, true, false],
    ['not while it is signed', { status: 'signed', errorReason: null }, null, true, false],
    ['not once it is settled', { status: 'settled', errorReason: null }, null, true, false],
    ['not once it is reversed', { status: 'reversed' }, null, true, false],
  ])('%s', (_, changes, idempotencyKey, repeats, expected) => {
    const settlement = { ...failed, ...changes }
    expect(isReclaimable(settlement, { idempotencyKey }, { isRepeat: repeats })).toBe(expected)
  })
})

describe('a payment is claimed, answered or refused', () => {
  const valid = { refusal: undefined, wasSent: false, isPaid: false, isPayerTransaction: false }
  test.each<[string, Partial<Parameters<typeof decideClaim>[0]>, ReturnType<typeof decideClaim>]>([
    ['valid', {}, { action: 'claim', basis: 'valid' }],
    ['a valid payer transaction', { isPayerTransaction: true }, { action: 'claim', basis: 'unused' }],
    ['refused', { refusal }, { action: 'refuse', refusal }],
    ['a refused payer transaction', { refusal, isPayerTransaction: true }, { action: 'refuse', refusal }],
    ['sent before', { wasSent: true }, { action: 'answer-earlier' }],
    ['sent before, refused', { wasSent: true, refusal }, { action: 'answer-earlier' }],
    [
      'sent before, a valid payer transaction',
      { wasSent: true, isPayerTransaction: true },
      { action: 'claim', basis: 'unused' },
    ],
    [
      'sent before, a refused payer transaction',
      { wasSent: true, isPayerTransaction: true, refusal },
      { action: 'answer-earlier' },
    ],
    [
      'sent before and paid since',
      { wasSent: true, isPaid: true, refusal },
      { action: 'claim', basis: 'paid' },
    ],
  ])('%s', (_, changes, expected) => {
    expect(decideClaim({ ...valid, ...changes })).toEqual(expected)
  })
})

describe('the answer to a request', () => {
  test.each<[Parameters<typeof decideAnswer>[0], boolean, Answer]>([
    [{ status: 'settled', errorReason: null }, true, 'report-success'],
    [{ status: 'settled', errorReason: null }, false, 'duplicate'],
    [{ status: 'failed', errorReason: 'insufficient_funds' }, true, 'failure'],
    [{ status: 'failed', errorReason: 'insufficient_funds' }, false, 'duplicate'],
    [{ status: 'failed', errorReason: 'transfer_event_mismatch' }, true, 'mismatch'],
    [{ status: 'failed', errorReason: 'transfer_event_mismatch' }, false, 'duplicate'],
    [{ status: 'reversed', errorReason: 'payment_expired' }, true, 'failure'],
  ])('%j, repeated: %s', (settlement, repeats, expected) => {
    expect(decideAnswer(settlement, { isRepeat: repeats })).toBe(expected)
  })
})

describe('two payments under one nonce are the same', () => {
  const payment: Payment = { payer: '0xa', payTo: '0xb', amount: 5n, nonce: '1', validUntil: 9n }
  test.each<[string, Partial<Payment>, boolean]>([
    ['with equal terms', {}, true],
    ['not with another recipient', { payTo: '0xc' }, false],
    ['not with another amount', { amount: 6n }, false],
    ['not with another expiry', { validUntil: 10n }, false],
    ['not if one is a transaction of its payer', { transaction: { hash: '0x1', raw: '0x' } }, false],
  ])('%s', (_, changes, expected) => {
    expect(isSamePayment(payment, { ...payment, ...changes })).toBe(expected)
  })
})
