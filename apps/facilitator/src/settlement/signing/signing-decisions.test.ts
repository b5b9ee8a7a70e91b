import { ChainUnavailable, type OwnTransaction, type Payment, type Refusal } from '@tollgate/chains'
import { type Claim } from '../claims/claim'
import { WAITS_FOR_ITS_PAYER, type ValidClaim } from '../claims/validate-claim'
import { type Verdict } from './fee-budget'
import {
  decideBatch,
  decideUnsigned,
  MAX_CLAIMS,
  mayHaveMore,
  nextClaimLimit,
  payersNeedingGrant,
  planRound,
  signedTransaction,
  type Attempt,
  type StopCause,
} from './signing-decisions'

const claim = (id: bigint, hasTransaction = false) => ({ id, hasTransaction }) as Claim
const ownTransaction = { raw: 'raw', hash: '0xpayer' }
const payment = (payer: string, isPayerSigned = false): Payment => ({
  payer,
  payTo: 'payee',
  amount: 1n,
  nonce: '0',
  ...(isPayerSigned ? { transaction: ownTransaction } : {}),
})

function valid(id: bigint, changes: Partial<ValidClaim> = {}): ValidClaim {
  const one = payment(`payer ${id}`)
  const terms = { token: { asset: 'asset', symbol: 'USDC', decimals: 6 }, payTo: 'payee', amount: 1n }
  return { claim: claim(id), payment: one, terms, isAlone: false, isBehind: false, headBlock: 1n, ...changes }
}
const payerSigned = (id: bigint, payer: string, isReady: boolean) =>
  valid(id, { payment: payment(payer, true), sponsorship: { fee: 5n, isReady } })
const idsOf = (those: readonly { claim: Claim }[]) => those.map((one) => one.claim.id)

const usedUp: Refusal = { reason: 'fee_allowance_exceeded', detail: 'used up' }
const refusal: Refusal = { reason: 'invalid_transaction_state', detail: 'reverts' }
const transaction: OwnTransaction = { raw: 'raw', hash: '0xours', cost: 10n }
const signed: Attempt = { status: 'fulfilled', value: transaction }
const refused: Attempt = { status: 'fulfilled', value: refusal }
const rejected = (reason: unknown): Attempt => ({ status: 'rejected', reason })

describe('the plan of a round', () => {
  const [ours, ready, unready] = [valid(1n), payerSigned(2n, 'a', true), payerSigned(3n, 'b', false)]
  const all = [ours, ready, unready]
  const plan = (changes: Partial<Parameters<typeof planRound>[1]> = {}, those: ValidClaim[] = all) =>
    planRound(those, { room: 1, busyPayers: new Set(), findUsedUpRefusal: () => undefined, ...changes })

  test.each<[string, Parameters<typeof plan>[0], bigint[], object[]]>([
    ['with room', {}, [1n, 3n], []],
    [
      'without room',
      { room: 0, findUsedUpRefusal: () => usedUp },
      [],
      [1n, 3n].map((id) => ({
        claim: claim(id),
        problem: 'waits for transactions of ours that are not mined',
      })),
    ],
    [
      'with a fee grant in flight for a payer',
      { busyPayers: new Set(['b', 'payer 1']) },
      [1n],
      [{ claim: claim(3n), problem: WAITS_FOR_ITS_PAYER }],
    ],
    [
      'with a used up share',
      { findUsedUpRefusal: ({ id }: Claim) => (id === 1n ? usedUp : undefined) },
      [3n],
      [{ claim: claim(1n), outcome: { status: 'failed', ...usedUp } }],
    ],
  ])('%s stores what payers signed, and batches %j', (_, state, batched, deferred) => {
    const { payerSigned: stored, ...rest } = plan(state)
    expect(idsOf(stored)).toEqual([2n])
    expect([idsOf(rest.ours), rest.deferred]).toEqual([batched, deferred])
  })

  test('a broadcast claim with a used up share waits instead of failing', () => {
    const sent = valid(1n, { claim: claim(1n, true) })
    expect(plan({ findUsedUpRefusal: () => usedUp }, [sent]).deferred).toEqual([
      { claim: sent.claim, problem: 'used up' },
    ])
  })

  test('only payers of transactions that are not ready need a grant', () => {
    expect(payersNeedingGrant(all)).toEqual(['b'])
  })
})

describe('a batch', () => {
  const batch = [valid(1n), valid(2n, { claim: claim(2n, true) })]
  const over = (...claims: Claim[]): Verdict => ({
    isTaken: false,
    over: new Map(claims.map((one) => [one, usedUp])),
  })
  const decide = (changes: Partial<Parameters<typeof decideBatch>[1]> = {}) =>
    decideBatch(batch, {
      transaction,
      verdict: { isTaken: true },
      signedAgain: 0,
      spent: 0n,
      funds: 10n,
      signer: '0xsigner',
      ...changes,
    })
  const [first, second] = [batch[0]!.claim, batch[1]!.claim]
  const failedFirst = { claim: first, outcome: { status: 'failed', ...usedUp } }
  const waitingSecond = { claim: second, problem: 'used up' }

  test.each<[string, Parameters<typeof decide>[0], object]>([
    ['that fits is stored', {}, { action: 'store', transaction }],
    [
      'that is not signed stops the round',
      { transaction: undefined, verdict: undefined },
      { action: 'stop', cause: { is: 'unsigned' } },
    ],
    [
      'of which one has no room is signed again without it',
      { verdict: over(first) },
      { action: 'sign-again', rest: [batch[1]], deferred: [failedFirst] },
    ],
    [
      'is signed again twice',
      { verdict: over(first), signedAgain: 1 },
      { action: 'sign-again', rest: [batch[1]], deferred: [failedFirst] },
    ],
    [
      'is not signed again a third time',
      { verdict: over(first), signedAgain: 2 },
      { action: 'stop', cause: { is: 'next-round' }, deferred: [failedFirst] },
    ],
    [
      'of which none has room is not signed again',
      { verdict: over(first, second) },
      { action: 'stop', cause: { is: 'next-round' }, deferred: [failedFirst, waitingSecond] },
    ],
    [
      'that the signer cannot pay for stops the round, before the daily fee limit counts',
      { spent: 1n, verdict: { isTaken: false, refusal } },
      {
        action: 'stop',
        cause: {
          is: 'no-funds',
          needed: 11n,
          problem: '0xsigner has 10 and may need 11 for fees, in the smallest native unit',
        },
      },
    ],
    [
      'over the daily fee limit stops the round',
      { verdict: { isTaken: false, refusal } },
      { action: 'stop', cause: { is: 'over-daily-limit', refusal } },
    ],
  ])('%s', (_, state, action) => {
    expect(decide(state)).toEqual(action)
  })
})

describe('a batch that is not stored', () => {
  const [one, two] = [[valid(1n)], [valid(1n), valid(2n)]]
  const unavailable = new ChainUnavailable('no answer')
  const bug = new TypeError('a bug')
  const noFunds: StopCause = { is: 'no-funds', needed: 2n, problem: 'no funds' }
  test.each<[string, ValidClaim[], Attempt, StopCause, object]>([
    ['signed, behind one that was not', two, signed, { is: 'unsigned' }, { action: 'next-round' }],
    ['left over', two, refused, { is: 'next-round' }, { action: 'next-round' }],
    ['without funds', two, signed, noFunds, { action: 'defer', problem: 'no funds' }],
    [
      'whose chain is unavailable',
      two,
      rejected(unavailable),
      { is: 'unsigned' },
      { action: 'defer', problem: unavailable },
    ],
    [
      'that caused an error',
      two,
      rejected(bug),
      { is: 'unsigned' },
      { action: 'retry-individually', problem: bug },
    ],
    ['refused as a whole', two, refused, { is: 'unsigned' }, { action: 'retry-individually' }],
    ['refused alone', one, refused, { is: 'unsigned' }, { action: 'refuse', one: one[0], refusal }],
    [
      'over the daily fee limit as a whole',
      two,
      signed,
      { is: 'over-daily-limit', refusal: usedUp },
      { action: 'retry-individually' },
    ],
    [
      'over the daily fee limit alone',
      one,
      signed,
      { is: 'over-daily-limit', refusal: usedUp },
      { action: 'refuse', one: one[0], refusal: usedUp },
    ],
  ])('%s', (_, batch, attempt, cause, action) => {
    expect(decideUnsigned(batch, attempt, cause)).toEqual(action)
  })
})

test.each<[Attempt | undefined, OwnTransaction | undefined]>([
  [signed, transaction],
  [refused, undefined],
  [rejected(new Error()), undefined],
  [undefined, undefined],
])('an attempt %j signed %j', (attempt, expected) => {
  expect(signedTransaction(attempt)).toEqual(expected)
})

test.each<[number, Parameters<typeof nextClaimLimit>[1], number]>([
  [MAX_CLAIMS, 'succeeded', MAX_CLAIMS],
  [3, 'succeeded', 6],
  [MAX_CLAIMS, { failedWith: 5 }, 3],
  [2, { failedWith: 1 }, 1],
])('after a limit of %s and a round that %j the limit is %s', (limit, round, next) => {
  expect(nextClaimLimit(limit, round)).toBe(next)
})

describe('there may be more', () => {
  const idle = { limit: 10, locked: 3, reserved: 2, deferred: 2, signed: [] as { claims: unknown[] }[] }
  test.each<[string, Partial<typeof idle>, boolean]>([
    ['not if all wait', {}, false],
    ['if the limit was reached', { locked: 10 }, true],
    ['if a batch was signed', { deferred: 1, signed: [{ claims: [1n] }] }, true],
    ['if some are left for the next round', { deferred: 1 }, true],
  ])('%s', (_, changes, expected) => {
    expect(mayHaveMore({ ...idle, ...changes })).toBe(expected)
  })
})
