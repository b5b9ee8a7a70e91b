import { computeAddress, hexlify, randomBytes, SigningKey } from 'ethers'
import type { TokenProblem } from '../../family'
import { uintWord, wordIn } from '../abi'
import { authorizationDigest, calls, holdsTransfer } from '../transfer-methods/eip3009/authorization'
import { balanceCall } from './erc20'
import type { AuthorizedPayment } from '../transfer-methods/eip3009/payment'
import { type Call, printable, reasonOf, type Result, succeeded } from './simulation'
import { READ_GAS } from './token'

export const HALF_AN_HOUR = 1_800n
export const AN_HOUR = 3_600n
const A_DAY = 86_400n

export const newKey = () => new SigningKey(hexlify(randomBytes(32)))
export const newNonce = () => hexlify(randomBytes(32))

/** Large enough to reveal a fee. */
export const largeAmount = (decimals: number): bigint =>
  10n ** BigInt(Math.max(9, Math.min(decimals, 18) + 3)) + 7n

/** Payer and payee are random addresses without known keys, so the token cannot harm an account. */
export type TestCases = ReturnType<typeof prepareTestCases>

/**
 * Two payments, one of the smallest unit and one large enough to reveal a fee, and authorizations that the token must
 * refuse. `separator`: the token's EIP-712 domain; `time`: of the chain, in Unix seconds.
 */
export function prepareTestCases(asset: string, separator: string, decimals: number, time: bigint) {
  const [key, otherKey] = [newKey(), newKey()]
  const payer = computeAddress(key)
  const payTo = computeAddress(newKey())
  const large = largeAmount(decimals)

  function sign(changes: Partial<AuthorizedPayment> = {}, by = key): AuthorizedPayment {
    const end = time + AN_HOUR
    const window = { validAfter: time - AN_HOUR, validBefore: end, validUntil: end }
    const parties = { kind: 'eip3009', payer, payTo } as const
    const payment = { ...parties, amount: 1n, nonce: newNonce(), ...window, signature: '0x', ...changes }
    return { ...payment, signature: by.sign(authorizationDigest(payment, separator)).serialized }
  }
  const one = sign()
  return {
    asset,
    payer,
    payTo,
    /** Within the validity of the payments: the token must still report them as used. */
    later: time + HALF_AN_HOUR,
    /** More than all payments together, so that taking too much, or twice, does not fail for lack of funds. */
    endowment: 4n * large,
    one,
    many: sign({ amount: large }),
    refused: {
      forged: sign({}, otherKey),
      otherPayee: { ...one, payTo: computeAddress(otherKey) },
      otherAmount: { ...one, amount: 2n },
      otherNonce: { ...one, nonce: newNonce() },
      otherStart: { ...one, validAfter: one.validAfter - 1n },
      otherEnd: { ...one, validBefore: one.validBefore + 1n },
      late: sign({ validBefore: time - 1n }),
      early: sign({ validAfter: time + A_DAY, validBefore: time + 2n * A_DAY }),
    },
  }
}

type Forgery = keyof TestCases['refused']

/** The same call with v, which stands after so many arguments, set to 0: `ecrecover` then returns the zero address. */
export function withoutSigner({ data, gas }: Call, argumentsBefore: number): Call {
  const at = '0x'.length + 8 + argumentsBefore * 64
  return { data: data.slice(0, at) + uintWord(0) + data.slice(at + 64), gas }
}

/** In order. The calls that must fail come first, so that they cannot change the result of the payments. */
export function callsOf({ payer, payTo, one, many, refused, later }: TestCases, maxGas: bigint) {
  const read = (data: string): Call => ({ data, gas: READ_GAS })
  const pay = (payment: AuthorizedPayment, byKey = true): Call => ({
    data: calls.transfer(payment, byKey),
    gas: maxGas,
  })
  const mustFail = Object.entries(refused).map(([name, payment]) => [name, pay(payment)])
  const now = {
    ...(Object.fromEntries(mustFail) as Record<Forgery, Call>),
    forgedForContract: pay(refused.forged, false),
    signedByNobody: withoutSigner(pay(refused.forged), 6),
    payerBefore: read(balanceCall(payer)),
    payeeBefore: read(balanceCall(payTo)),
    one: pay(one),
    payerAfterOne: read(balanceCall(payer)),
    payeeAfterOne: read(balanceCall(payTo)),
    again: pay(one),
    payerBetween: read(balanceCall(payer)),
    payeeBetween: read(balanceCall(payTo)),
    many: pay(many),
    payerAfterMany: read(balanceCall(payer)),
    payeeAfterMany: read(balanceCall(payTo)),
    oneAfterMany: pay(one),
    manyAgain: pay(many),
    oneIsUsed: read(calls.isAuthorizationUsed(one)),
    manyIsUsed: read(calls.isAuthorizationUsed(many)),
  }
  const afterwards = {
    oneLater: pay(one),
    manyLater: pay(many),
    oneIsUsedLater: read(calls.isAuthorizationUsed(one)),
    manyIsUsedLater: read(calls.isAuthorizationUsed(many)),
  }
  return { now, later: { time: later, calls: afterwards } }
}

type Calls = ReturnType<typeof callsOf>
type Results = Record<keyof Calls['now'] | keyof Calls['later']['calls'], Result>
type Payment = 'one' | 'many'
/** Returns what the results prove against the token. `made`: the payments that succeeded. */
type Check = (results: Results, testCases: TestCases, made: readonly Payment[]) => string | undefined

const word = (result: Result): bigint | undefined =>
  succeeded(result) ? wordIn(result.returnData) : undefined

const forgeries: readonly [Forgery | 'forgedForContract' | 'signedByNobody', string][] = [
  ['forged', 'a signature of somebody else than the payer'],
  ['forgedForContract', 'a signature of somebody else than the payer, given as bytes'],
  ['signedByNobody', 'a signature that was never made'],
  ['otherPayee', 'an authorization whose payee was altered after it was signed'],
  ['otherAmount', 'an authorization whose amount was altered after it was signed'],
  ['otherNonce', 'an authorization whose nonce was altered after it was signed'],
  ['otherStart', 'an authorization whose validAfter was altered after it was signed'],
  ['otherEnd', 'an authorization whose validBefore was altered after it was signed'],
  ['late', 'an authorization after its validBefore'],
  ['early', 'an authorization before its validAfter'],
]
const checkForgeries: Check = (results) => {
  const taken = forgeries.find(([name]) => succeeded(results[name]))
  return taken && `transferWithAuthorization takes ${taken[1]}`
}

const checkMoves: Check = (results, { one, many }, made) => {
  const moved = (before: Result, after: Result): bigint => (word(after) ?? 0n) - (word(before) ?? 0n)
  const { payerBefore, payeeBefore, payerAfterOne, payeeAfterOne } = results
  const { payerBetween, payeeBetween, payerAfterMany, payeeAfterMany } = results
  const all = {
    one: [one.amount, -moved(payerBefore, payerAfterOne), moved(payeeBefore, payeeAfterOne)],
    many: [many.amount, -moved(payerBetween, payerAfterMany), moved(payeeBetween, payeeAfterMany)],
  } as const
  const payments = made.map((name) => all[name])
  if (payments.some(([, lost, got]) => lost === 0n && got === 0n))
    return 'transferWithAuthorization moves nothing'
  const wrong = payments.find(([amount, lost, got]) => lost !== amount || got !== amount)
  return (
    wrong &&
    `transferWithAuthorization takes a fee: of ${wrong[0]} the payer lost ${wrong[1]} and the payee got ${wrong[2]}`
  )
}

const repeated = {
  one: ['again', 'oneAfterMany', 'oneLater'],
  many: ['manyAgain', 'manyLater'],
} as const
const checkOnce: Check = (results, _, made) => {
  if (made.flatMap((name) => repeated[name]).some((name) => succeeded(results[name])))
    return 'transferWithAuthorization does not revert on an authorization that was used'
  const isKnown = made.every((name) =>
    ([`${name}IsUsed`, `${name}IsUsedLater`] as const).every((state) => word(results[state]) === 1n),
  )
  return isKnown ? undefined : 'authorizationState does not tell that an authorization was used'
}

const checkEvents: Check = (results, testCases, made) =>
  made.every((name) => holdsTransfer(results[name].logs, testCases.asset, testCases[name]))
    ? undefined
    : 'transferWithAuthorization does not emit AuthorizationUsed and then Transfer of exactly the payment, by which it would be known to be settled'

/** Not proof against the token: it may be paused, or limit transfers. */
export const failsForGood = (reason: string): TokenProblem => ({
  problem: `transferWithAuthorization fails for a good authorization: ${printable(reason)}`,
  isTokensFault: false,
})

/** A proven fault comes before a failed payment. */
export function problemIn(results: Results, testCases: TestCases): TokenProblem | undefined {
  const made = (['one', 'many'] as const).filter((name) => succeeded(results[name]))
  for (const check of [checkForgeries, checkMoves, checkOnce, checkEvents]) {
    const problem = check(results, testCases, made)
    if (problem !== undefined) return { problem, isTokensFault: true }
  }
  const failed = [results.one, results.many].find((result) => !succeeded(result))
  return failed && failsForGood(reasonOf(failed))
}
