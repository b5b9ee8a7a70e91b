import {
  ChainUnavailable,
  SignerUnavailable,
  type OwnTransaction,
  type Payment,
  type Refusal,
  type UnsignedTransaction,
} from '@tollgate/chains'
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
  planStoring,
  preparedTransaction,
  type AcceptedBatch,
  type Batch,
  type Preparation,
  type Signature,
  type Stop,
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
const transaction: UnsignedTransaction = { signer: '0xsigner', bytes: Uint8Array.of(1), cost: 10n }
const prepared: Preparation = { status: 'fulfilled', value: transaction }
const refused: Preparation = { status: 'fulfilled', value: refusal }
const rejected = (reason: unknown): PromiseRejectedResult => ({ status: 'rejected', reason })

describe('the plan of a round', () => {
  const [ours, ready, unready] = [valid(1n), payerSigned(2n, 'a', true), payerSigned(3n, 'b', false)]
  const all = [ours, ready, unready]
  const plan = (changes: Partial<Parameters<typeof planRound>[1]> = {}, those: ValidClaim[] = all) =>
    planRound(those, {
      room: 1,
      busyPayers: new Set(),
      findUsedUp: () => undefined,
      grantsWait: false,
      ...changes,
    })

  test.each<[string, Parameters<typeof plan>[0], bigint[], object[]]>([
    ['with room', {}, [3n, 1n], []],
    [
      'without room',
      { room: 0, findUsedUp: () => usedUp },
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
      { findUsedUp: ({ claim }: ValidClaim) => (claim.id === 1n ? usedUp : undefined) },
      [3n],
      [{ claim: claim(1n), outcome: { status: 'failed', ...usedUp } }],
    ],
  ])('%s stores what payers signed, and batches %j', (_, state, batched, deferred) => {
    const { payerSigned: stored, ...rest } = plan(state)
    expect(idsOf(stored)).toEqual([2n])
    expect([idsOf(rest.ours), rest.deferred]).toEqual([batched, deferred])
  })

  test('a fee grant waits for transactions whose nonce may stay unused, and they for the grant before them', () => {
    const countersigned = (id: bigint) =>
      valid(id, { payment: { ...payment(`payer ${id}`), countersigned: { fee: 5n } } })
    const those = [countersigned(1n), unready, countersigned(4n)]
    const waits = { problem: 'waits for transactions of ours that are not mined', isBrief: true }
    const { ours: now, deferred } = plan({ grantsWait: true }, those)
    expect([idsOf(now), deferred]).toEqual([
      [1n],
      [
        { claim: claim(3n), ...waits },
        { claim: claim(4n), ...waits },
      ],
    ])
    expect(idsOf(plan({}, those).ours)).toEqual([3n, 1n, 4n])
  })

  test('a broadcast claim with a used up share waits instead of failing', () => {
    const sent = valid(1n, { claim: claim(1n, true) })
    expect(plan({ findUsedUp: () => usedUp }, [sent]).deferred).toEqual([
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
      preparedAgain: 0,
      spent: 0n,
      funds: 10n,
      signer: '0xsigner',
      ...changes,
    })
  const [first, second] = [batch[0]!.claim, batch[1]!.claim]
  const failedFirst = { claim: first, outcome: { status: 'failed', ...usedUp } }
  const waitingSecond = { claim: second, problem: 'used up' }

  test.each<[string, Parameters<typeof decide>[0], object]>([
    ['that fits is signed', {}, { action: 'sign', transaction }],
    [
      'that is not prepared stops the round',
      { transaction: undefined, verdict: undefined },
      { action: 'stop', cause: { is: 'unsigned' } },
    ],
    [
      'of which one has no room is prepared again without it',
      { verdict: over(first) },
      { action: 'prepare-again', rest: [batch[1]], deferred: [failedFirst] },
    ],
    [
      'is prepared again twice',
      { verdict: over(first), preparedAgain: 1 },
      { action: 'prepare-again', rest: [batch[1]], deferred: [failedFirst] },
    ],
    [
      'is not prepared again a third time',
      { verdict: over(first), preparedAgain: 2 },
      { action: 'stop', cause: { is: 'next-round' }, deferred: [failedFirst] },
    ],
    [
      'of which none has room is not prepared again',
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

describe('of the accepted batches', () => {
  const own = (hash: string): OwnTransaction => ({ raw: 'raw', hash, cost: 10n })
  const signedAs = (hash: string): Signature => ({ status: 'fulfilled', value: own(hash) })
  const away = rejected(new SignerUnavailable('timeout', 'no answer'))
  const overShare = (id: bigint) => ({ claim: claim(id), problem: 'no room in its share' })
  const batches: Batch[] = [[valid(1n)], [valid(2n), valid(3n)], [valid(4n)]]
  const accepted = batches.map((batch, index): AcceptedBatch => ({
    batch,
    nonce: BigInt(index),
    transaction,
    deferred: [overShare(BigInt(10 + index))],
  }))
  const toStore = (index: number) => ({
    batch: batches[index],
    nonce: BigInt(index),
    transaction: own(`0x${index}`),
  })
  const all = [0, 1, 2].map((index) => signedAs(`0x${index}`))
  const behind = { batch: [valid(5n)], attempt: prepared }
  const overLimit: Stop = {
    cause: { is: 'over-daily-limit', refusal },
    deferred: [overShare(20n)],
    unsigned: [behind],
  }
  const unsigned = (...those: Stop['unsigned']) => ({
    cause: { is: 'unsigned' },
    deferred: [],
    unsigned: those,
  })
  const attempted = (index: number, attempt: Signature | undefined) => ({ batch: batches[index], attempt })

  test.each<[string, Signature[], Stop | undefined, object]>([
    [
      'all are stored if all are signed',
      all,
      undefined,
      { signed: [0, 1, 2].map(toStore), deferred: [10n, 11n, 12n].map(overShare) },
    ],
    [
      'all are stored, and the others stop for their cause',
      all,
      overLimit,
      {
        signed: [0, 1, 2].map(toStore),
        deferred: [10n, 11n, 12n, 20n].map(overShare),
        stop: overLimit,
      },
    ],
    [
      'those before the first without a signature are stored; what had no room beside the others is not refused',
      [all[0]!, away, all[2]!],
      undefined,
      {
        signed: [toStore(0)],
        deferred: [overShare(10n)],
        stop: unsigned(attempted(1, away) as never, attempted(2, all[2]) as never),
      },
    ],
    [
      'none is stored if the first has no signature, and no daily fee limit refuses those behind',
      [away, away, away],
      overLimit,
      {
        signed: [],
        deferred: [],
        stop: unsigned(...([0, 1, 2].map((index) => attempted(index, away)) as never[]), behind),
      },
    ],
  ])('%s', (_, signatures, stop, plan) => {
    expect(planStoring({ accepted, ...(stop && { stop }) }, signatures)).toEqual(plan)
  })
})

describe('a batch that is not stored', () => {
  const [one, two] = [[valid(1n)], [valid(1n), valid(2n)]]
  const unavailable = new ChainUnavailable('no answer')
  const unsignable = new SignerUnavailable('timeout', 'no answer')
  const signed: Signature = { status: 'fulfilled', value: { raw: 'raw', hash: '0xours', cost: 10n } }
  const bug = new TypeError('a bug')
  const noFunds: StopCause = { is: 'no-funds', needed: 2n, problem: 'no funds' }
  test.each<[string, ValidClaim[], Preparation | Signature, StopCause, object]>([
    ['prepared, behind one that was not', two, prepared, { is: 'unsigned' }, { action: 'next-round' }],
    ['signed, behind one that was not', two, signed, { is: 'unsigned' }, { action: 'next-round' }],
    ['left over', two, refused, { is: 'next-round' }, { action: 'next-round' }],
    ['without funds', two, prepared, noFunds, { action: 'defer', problem: 'no funds' }],
    [
      'whose chain is unavailable',
      two,
      rejected(unavailable),
      { is: 'unsigned' },
      { action: 'defer', problem: unavailable },
    ],
    [
      'whose signer is unavailable',
      two,
      rejected(unsignable),
      { is: 'unsigned' },
      { action: 'defer', problem: unsignable },
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
      prepared,
      { is: 'over-daily-limit', refusal: usedUp },
      { action: 'retry-individually' },
    ],
    [
      'over the daily fee limit alone',
      one,
      prepared,
      { is: 'over-daily-limit', refusal: usedUp },
      { action: 'refuse', one: one[0], refusal: usedUp },
    ],
  ])('%s', (_, batch, attempt, cause, action) => {
    expect(decideUnsigned(batch, attempt, cause)).toEqual(action)
  })
})

test.each<[string, Preparation, UnsignedTransaction | undefined]>([
  ['a batch that is prepared has', prepared, transaction],
  ['a refused batch has no', refused, undefined],
  ['a batch that caused an error has no', rejected(new Error()), undefined],
])('%s transaction', (_, preparation, expected) => {
  expect(preparedTransaction(preparation)).toBe(expected)
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
