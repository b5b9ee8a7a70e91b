import { type Payment, type PaymentStatus, type Refusal, type Transfer } from '@tollgate/chains'
import {
  decideAnswer,
  decideClaim,
  decideUnclaimed,
  isReclaimable,
  isRepeat,
  isSamePayment,
  paidBlockOf,
  type Answer,
  type ClaimFacts,
} from './settle-decisions'
import { type KeyRelation, type Settlement } from './store'

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

const settlement: Settlement = {
  id: 1n,
  requestId: null,
  traceparent: null,
  clientId: 'client_1',
  requestHash,
  idempotencyKey: null,
  network: 'base-sepolia',
  payer: '0xa',
  status: 'failed',
  transactionHash: '0x1',
  blockNumber: null,
  arrived: false,
  errorReason: 'payment_expired',
  errorDetail: null,
  settledAt: null,
  endedAt: new Date(),
  successReportedAt: null,
}

describe('a payment is claimed, answered or refused', () => {
  const valid: ClaimFacts = {
    refusal: undefined,
    sent: undefined,
    isSamePayment: false,
    paidBlock: undefined,
    isPayerTransaction: false,
    headBlock: 100n,
    highestBlock: 105n,
    isUnspent: true,
  }
  const evidence = {
    basis: 'valid',
    minBlock: 99n,
    unspentAtBlock: 100n,
    seenBlock: 105n,
    isSamePayment: false,
  }
  const claimWith = (changes: object = {}) => ({ action: 'claim', evidence: { ...evidence, ...changes } })
  const arrived: Transfer = { hash: '0x2', blockNumber: 90n, time: 1_000n, place: '0' }
  const refused = { action: 'refuse', refusal }
  const answered = { action: 'answer-earlier', settlement }
  test.each<[string, Partial<ClaimFacts>, object]>([
    ['valid', {}, claimWith()],
    ['valid, its nonce not read at the head', { isUnspent: false }, claimWith({ unspentAtBlock: null })],
    ['a valid payer transaction', { isPayerTransaction: true }, claimWith({ basis: 'unused' })],
    ['refused', { refusal }, refused],
    ['a refused payer transaction', { refusal, isPayerTransaction: true }, refused],
    [
      'made before it was presented, to a recipient of its own user',
      { refusal, arrived, isOwnRecipient: true, isUnspent: false },
      claimWith({ basis: 'arrived', minBlock: 90n, unspentAtBlock: null, isOwnRecipient: true, arrived }),
    ],
    [
      'sent before, and made by somebody before that',
      { sent: settlement, refusal, arrived, isOwnRecipient: true },
      claimWith({ basis: 'arrived', minBlock: 90n, isOwnRecipient: true, arrived }),
    ],
    ['sent before', { sent: settlement }, answered],
    ['sent before, refused', { sent: settlement, refusal }, answered],
    [
      'sent before, a valid payer transaction',
      { sent: settlement, isSamePayment: true, isPayerTransaction: true },
      claimWith({ basis: 'unused', isSamePayment: true }),
    ],
    [
      'another payment sent before, a valid payer transaction',
      { sent: settlement, isPayerTransaction: true },
      claimWith({ basis: 'unused' }),
    ],
    [
      'sent before, a refused payer transaction',
      { sent: settlement, isPayerTransaction: true, refusal },
      answered,
    ],
    [
      'sent before and paid since',
      { sent: settlement, isSamePayment: true, paidBlock: 103n, isUnspent: false, refusal },
      claimWith({ basis: 'paid', minBlock: 103n, unspentAtBlock: null, isSamePayment: true }),
    ],
    [
      'a payer transaction sent before and paid since',
      { sent: settlement, isSamePayment: true, paidBlock: 103n, isPayerTransaction: true, refusal },
      claimWith({ basis: 'paid', minBlock: 103n, isSamePayment: true }),
    ],
  ])('%s', (_, changes, expected) => {
    expect(decideClaim({ ...valid, ...changes })).toEqual(expected)
  })
})

describe('a payment that was sent before is paid by', () => {
  const earlierClaim = { unspentAtBlock: 80n, seenBlock: 90n }
  const settled = (blockNumber: bigint): PaymentStatus => ({ status: 'settled', hash: '0x1', blockNumber })
  test.each<[string, PaymentStatus, bigint | undefined]>([
    ['the head, if the transfer is not confirmed yet', { status: 'pending' }, 100n],
    ['the head, if the transfer is older', settled(95n), 100n],
    ['the block of the transfer, if it is newer', settled(101n), 101n],
    ['no block, if the transfer may predate the earlier claim', settled(90n), undefined],
    ['the head, if the nonce was unused where the transfer is', settled(80n), 100n],
    ['no block, if the payment is open', { status: 'open' }, undefined],
    ['no block, if the payment is void', { status: 'void', ...refusal }, undefined],
  ])('%s', (_, status, expected) => {
    expect(paidBlockOf(status, earlierClaim, 100n)).toBe(expected)
  })
})

describe('a request that did not claim', () => {
  const answered = { action: 'answer-concurrent', settlement }
  const refused = { action: 'refuse', refusal }
  test.each<[string, Parameters<typeof decideUnclaimed>[0], object]>([
    [
      'gets the settlement of a concurrent request',
      { concurrent: settlement, isReclaimable: false, refusal: undefined },
      answered,
    ],
    [
      'gets the settlement of a concurrent request, also if that has failed since',
      { concurrent: settlement, isReclaimable: true, refusal: undefined },
      answered,
    ],
    [
      'gets the settlement of a concurrent request that is why the chain refuses',
      { concurrent: settlement, isReclaimable: false, refusal },
      answered,
    ],
    [
      'is refused if the settlement can be reclaimed',
      { concurrent: settlement, isReclaimable: true, refusal },
      refused,
    ],
    [
      'is refused if there is no settlement',
      { concurrent: undefined, isReclaimable: false, refusal },
      refused,
    ],
    [
      'was too late if there is neither a settlement nor a refusal',
      { concurrent: undefined, isReclaimable: false, refusal: undefined },
      { action: 'report-too-late' },
    ],
  ])('%s', (_, facts, expected) => {
    expect(decideUnclaimed(facts)).toEqual(expected)
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
