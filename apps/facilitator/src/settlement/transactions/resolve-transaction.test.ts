import { type Payment, type PaymentStatus, type Refusal, type TransactionStatus } from '@tollgate/chains'
import { type Claim } from '../claims/claim'
import {
  decideAfterMined,
  decideByStatus,
  decideSuperseded,
  expiredOutcome,
  hasExpired,
  nextStep,
  outcomeInBlock,
  resolveUnsendable,
  type MinedVersion,
  type UnsendableTransaction,
} from './resolve-transaction'

const block = { number: 100n, hash: '0xblock' }
const mined = (changes: Partial<MinedVersion> = {}): MinedVersion => ({
  status: 'mined',
  hash: '0xours',
  block,
  isConfirmed: true,
  succeeded: true,
  fee: 1n,
  settles: () => false,
  placeOf: () => undefined,
  differs: () => false,
  ...changes,
})
const claim = (changes: Partial<Claim> = {}): Claim => ({
  id: 1n,
  clientId: 'client',
  idempotencyKey: null,
  requestId: null,
  traceparent: null,
  payer: 'payer',
  payload: {},
  terms: { token: { asset: 'asset', symbol: 'USDC', decimals: 6 }, payTo: 'payee', amount: 1n },
  createdAt: new Date(0),
  minBlock: 50n,
  unspentAtBlock: 50n,
  seenBlock: 60n,
  wasSettled: false,
  countsArrived: false,
  arrived: false,
  isAssetSuspended: false,
  isDenied: false,
  ownHashes: [],
  attempts: 0,
  hasTransaction: true,
  isRetryRequested: false,
  isReported: false,
  ...changes,
})
const payment: Payment = { payer: 'payer', payTo: 'payee', amount: 1n, nonce: '0', validUntil: 1_000n }
const hashes = ['0xnew', '0xold']

const expired: Refusal = { reason: 'payment_expired', detail: 'expired' }
const open: PaymentStatus = { status: 'open' }
const pending: PaymentStatus = { status: 'pending' }
const isVoid: PaymentStatus = { status: 'void', ...expired }
const settledBy = (hash: string, blockNumber = 100n): PaymentStatus => ({
  status: 'settled',
  hash,
  blockNumber,
})
const usedBy = (hash: string): PaymentStatus => ({
  status: 'void',
  ...expired,
  usedIn: { hash, blockNumber: 100n },
})
const settled = (hash: string) => ({
  action: 'complete',
  outcome: { status: 'settled', hash, blockNumber: 100n },
})
const failed = (reason: string) => ({
  action: 'complete',
  outcome: expect.objectContaining({ status: 'failed', reason }) as unknown,
})

describe('the next step of a transaction', () => {
  const unknown: TransactionStatus = { status: 'unknown' }
  const waiting: TransactionStatus = { status: 'waiting' }
  test.each<[string, TransactionStatus[], string]>([
    ['the newest version is unknown to the node', [unknown, waiting], 'rebroadcast'],
    ['only an older version is unknown', [waiting, unknown], 'await-block'],
    ['a version is mined without confirmations', [mined({ isConfirmed: false })], 'await-confirmations'],
    ['an older version is mined, the newest unknown', [unknown, mined()], 'resolve'],
  ])('%s', (_, statuses, action) => {
    expect(nextStep(hashes, statuses)).toMatchObject({ action })
  })

  test('resolves the version that was mined', () => {
    expect(nextStep(hashes, [unknown, mined()])).toMatchObject({ mined: { hash: '0xold' } })
  })
})

describe('a claim in the block of its transaction', () => {
  const settles = { settles: () => true }
  test.each<[string, Partial<MinedVersion>, Partial<Claim>, boolean, string | undefined]>([
    ['is settled by the exact transfer', settles, {}, false, 'settled'],
    ['fails by a different transfer', { differs: () => true }, {}, false, 'transfer_event_mismatch'],
    ['is not decided by a block without either', {}, {}, false, undefined],
    [
      'is settled by a transaction of ours in a block before it',
      settles,
      { seenBlock: 100n },
      false,
      'settled',
    ],
    [
      'is not settled by a payer’s own transaction from before it',
      settles,
      { seenBlock: 100n },
      true,
      undefined,
    ],
    [
      'is settled by one from before it where that counts',
      settles,
      { seenBlock: 100n, countsArrived: true },
      true,
      'settled',
    ],
    [
      'is settled again by a payer’s own transaction that a reorg moved',
      settles,
      { seenBlock: 100n, wasSettled: true },
      true,
      'settled',
    ],
  ])('%s', (_, version, changes, isPayerSigned, expected) => {
    const outcome = outcomeInBlock(claim(changes), payment, mined(version), { isPayerSigned })
    expect(outcome && (outcome.status === 'failed' ? outcome.reason : outcome.status)).toBe(expected)
  })
})

test('a payer’s own transaction from before the claim is said to have arrived, with the place of its transfer', () => {
  const version = mined({ settles: () => true, placeOf: () => '2' })
  const outcomeOf = (changes: Partial<Claim>) =>
    outcomeInBlock(claim({ countsArrived: true, ...changes }), payment, version, { isPayerSigned: true })
  expect(outcomeOf({ seenBlock: 100n })).toMatchObject({ status: 'settled', place: '2', arrived: true })
  expect(outcomeOf({})).not.toHaveProperty('arrived')
})

describe('a claim that its mined transaction did not settle', () => {
  test.each<[string, PaymentStatus | 'unknown', boolean, unknown]>([
    ['is retried while open', open, false, { action: 'retry' }],
    ['is retried if its status is unknown', 'unknown', false, { action: 'retry' }],
    ['waits if a payer’s own status is unknown', 'unknown', true, { action: 'wait' }],
    ['is retried without confirmations', pending, false, { action: 'retry' }],
    ['waits for the confirmations of a payer’s own', pending, true, { action: 'wait' }],
    ['is settled by a third party', settledBy('0xtheirs'), false, settled('0xtheirs')],
    ['fails if void', isVoid, false, failed('payment_expired')],
  ])('%s', (_, status, isPayerSigned, expected) => {
    expect(decideAfterMined(claim(), status, { hashes, isPayerSigned })).toEqual(expected)
  })
})

describe('a claim by the status of its payment', () => {
  test.each<[string, PaymentStatus, Partial<Claim>, unknown]>([
    ['waits for confirmations', pending, {}, { action: 'wait' }],
    ['is retried while open', open, {}, { action: 'retry' }],
    ['is settled by a third party after the claim', settledBy('0xtheirs'), {}, settled('0xtheirs')],
    [
      'is settled by what was there before the claim where that counts',
      settledBy('0xtheirs'),
      { seenBlock: 100n, countsArrived: true },
      { action: 'complete', outcome: { ...settled('0xtheirs').outcome, arrived: true } },
    ],
    [
      'fails if settled before the claim',
      settledBy('0xtheirs'),
      { seenBlock: 100n },
      failed('invalid_transaction_state'),
    ],
    [
      'fails as mismatch if a version of ours used it',
      usedBy('0xold'),
      {},
      failed('transfer_event_mismatch'),
    ],
    [
      'fails as mismatch if an earlier transaction of ours used it',
      usedBy('0xearlier'),
      { ownHashes: ['0xearlier'] },
      failed('transfer_event_mismatch'),
    ],
    [
      'fails with the chain’s reason if a third party used it',
      usedBy('0xtheirs'),
      {},
      failed('payment_expired'),
    ],
  ])('%s', (_, status, changes, expected) => {
    expect(decideByStatus(claim(changes), status, { hashes })).toEqual(expected)
  })
})

describe('an expired claim', () => {
  test.each<[string, bigint | undefined, bigint, boolean]>([
    ['not before its time', 1_000n, 999n, false],
    ['at its time', 1_000n, 1_000n, true],
    ['never without an end', undefined, 10n ** 12n, false],
  ])('%s', (_, validUntil, time, expected) => {
    const { payer, payTo, amount, nonce } = payment
    const end = validUntil === undefined ? {} : { validUntil }
    expect(hasExpired({ payer, payTo, amount, nonce, ...end }, time)).toBe(expected)
  })

  test.each<[string, PaymentStatus | 'unknown', string | undefined]>([
    ['fails once void', isVoid, 'payment_expired'],
    ['stays if a transaction used its nonce', usedBy('0xours'), undefined],
    ['stays while open', open, undefined],
    ['stays if settled', settledBy('0xtheirs'), undefined],
    ['stays if its status is unknown', 'unknown', undefined],
  ])('%s', (_, status, reason) => {
    expect(expiredOutcome(status)?.reason).toBe(reason)
  })
})

describe('a transaction that cannot be broadcast', () => {
  const ours: UnsendableTransaction = {
    isPayerSigned: false,
    isCountersigned: false,
    isNonceSpent: false,
    isOld: true,
    wasSubmitted: true,
    hashes,
    statuses: [open],
    rejection: { verdict: undefined },
  }
  const payers: UnsendableTransaction = { ...ours, isPayerSigned: true, hashes: ['0xpayers'] }
  const countersigned: UnsendableTransaction = { ...ours, isCountersigned: true }
  const verdict = { verdict: { reason: 'insufficient_funds', detail: '' } } as const
  test.each<[string, UnsendableTransaction, string]>([
    ['keeps one of ours whose nonce is free', ours, 'keep'],
    ['supersedes one of ours whose nonce is used', { ...ours, isNonceSpent: true }, 'nonce used'],
    ['waits for a lagging node', { ...ours, isNonceSpent: true, statuses: [settledBy('0xold')] }, 'wait'],
    [
      'supersedes one whose payment a third party settled',
      { ...ours, isNonceSpent: true, statuses: [settledBy('0xtheirs')] },
      'nonce used',
    ],
    ['keeps one of ours whose payments are decided', { ...ours, statuses: [isVoid] }, 'keep'],
    [
      'supersedes one that its payer signed too and outran',
      { ...countersigned, statuses: [isVoid] },
      'payments decided',
    ],
    ['keeps one that its payer signed too, and that a node may have', countersigned, 'keep'],
    [
      'supersedes one that its payer signed too and no node accepted',
      { ...countersigned, wasSubmitted: false },
      'never accepted',
    ],
    ['supersedes a payer’s own that is void', { ...payers, statuses: [isVoid] }, 'payments decided'],
    [
      'supersedes a payer’s own that a third party settled',
      { ...payers, statuses: [settledBy('0xtheirs')] },
      'payments decided',
    ],
    [
      'keeps one while a payment in it is open',
      { ...payers, isOld: false, statuses: [isVoid, open] },
      'keep',
    ],
    ['keeps a payer’s own without a rejection', { ...payers, rejection: undefined }, 'keep'],
    ['keeps a payer’s own that a lagging node may reject', { ...payers, isOld: false }, 'keep'],
    [
      'believes a verdict on the transaction itself at once',
      { ...payers, isOld: false, rejection: verdict },
      'check-grant',
    ],
    ['checks the fee grant of an old rejected one', payers, 'check-grant'],
    ['supersedes one without its fee grant', { ...payers, isGrantMissing: true }, 'fee grant missing'],
    ['keeps one that a node may have', { ...payers, isGrantMissing: false }, 'keep'],
    [
      'supersedes one that no node accepted',
      { ...payers, isGrantMissing: false, wasSubmitted: false },
      'never accepted',
    ],
  ])('%s', (_, transaction, expected) => {
    const step = resolveUnsendable(transaction)
    expect(step.action === 'supersede' ? step.cause : step.action).toBe(expected)
  })
})

describe('a claim whose transaction is superseded', () => {
  const rejection = { message: 'unknown account', verdict: undefined }
  test.each<[string, PaymentStatus, Parameters<typeof decideSuperseded>[2]['cause'], unknown]>([
    ['is retried while open', open, 'nonce used', { action: 'retry' }],
    ['is retried if only the fee grant is missing', open, 'fee grant missing', { action: 'retry' }],
    ['waits while its payment is pending', pending, 'never accepted', { action: 'wait' }],
    ['is settled by a third party', settledBy('0xtheirs'), 'never accepted', settled('0xtheirs')],
    [
      'fails unsent if no node accepted it',
      open,
      'never accepted',
      {
        action: 'complete',
        outcome: {
          status: 'failed',
          reason: 'invalid_transaction_state',
          detail: 'unknown account',
          isUnsent: true,
        },
      },
    ],
  ])('%s', (_, status, cause, expected) => {
    expect(decideSuperseded(claim(), status, { cause, hashes, rejection })).toEqual(expected)
  })

  test('fails with the node’s verdict', () => {
    const verdict: Refusal = { reason: 'insufficient_funds', detail: 'no balance' }
    const rejected = { message: 'code 5', verdict }
    const decision = decideSuperseded(claim(), open, { cause: 'never accepted', hashes, rejection: rejected })
    expect(decision).toMatchObject({ outcome: { ...verdict, isUnsent: true } })
  })
})
