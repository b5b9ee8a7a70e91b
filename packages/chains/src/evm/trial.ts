import { computeAddress, hexlify, randomBytes, SigningKey } from 'ethers'
import { wordIn } from './abi'
import { authorizationDigest, calls, holdsTransfer } from './eip3009'
import type { EvmPayment } from './payment'
import { type Call, printable, reasonOf, type Result, succeeded } from './simulation'
import { READ_GAS } from './token'

const AN_HOUR = 3_600n
const A_DAY = 86_400n

const newKey = () => new SigningKey(hexlify(randomBytes(32)))
const newNonce = () => hexlify(randomBytes(32))

/** What a token is tried with. Payer and payee are made up: whatever the token does to them, nobody holds their keys. */
export type Trial = ReturnType<typeof prepareTrial>

/**
 * Two payments, of the smallest unit and of a size that a fee shows in, and what the token must refuse of their payer.
 * `separator` is the token's EIP-712 domain, `time` the chain's in Unix seconds.
 */
export function prepareTrial(asset: string, separator: string, decimals: number, time: bigint) {
  const [key, otherKey] = [newKey(), newKey()]
  const payer = computeAddress(key)
  const payTo = computeAddress(newKey())
  const large = 10n ** BigInt(Math.max(9, Math.min(decimals, 18) + 3)) + 7n

  function sign(changes: Partial<EvmPayment> = {}, by = key): EvmPayment {
    const window = { validAfter: time - AN_HOUR, validBefore: time + AN_HOUR }
    const payment = { payer, payTo, amount: 1n, nonce: newNonce(), ...window, signature: '0x', ...changes }
    return { ...payment, signature: by.sign(authorizationDigest(payment, separator)).serialized }
  }
  const one = sign()
  return {
    asset,
    payer,
    payTo,
    /** More than all payments together, so that a token can take too much, or twice. */
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

type Forgery = keyof Trial['refused']

/** The calls of a trial, in their order: what must fail first, so that the payments meet the state they would meet. */
export function callsOf({ payer, payTo, one, many, refused }: Trial, maxGas: bigint) {
  const read = (data: string): Call => ({ data, gas: READ_GAS })
  const pay = (payment: EvmPayment, byKey = true): Call => ({
    data: calls.transfer(payment, byKey),
    gas: maxGas,
  })
  const mustFail = Object.entries(refused).map(([name, payment]) => [name, pay(payment)])
  return {
    ...(Object.fromEntries(mustFail) as Record<Forgery, Call>),
    forgedForContract: pay(refused.forged, false),
    payerBefore: read(calls.balance(payer)),
    payeeBefore: read(calls.balance(payTo)),
    one: pay(one),
    payerAfterOne: read(calls.balance(payer)),
    payeeAfterOne: read(calls.balance(payTo)),
    again: pay(one),
    used: read(calls.isAuthorizationUsed(one)),
    payerBetween: read(calls.balance(payer)),
    payeeBetween: read(calls.balance(payTo)),
    many: pay(many),
    payerAfterMany: read(calls.balance(payer)),
    payeeAfterMany: read(calls.balance(payTo)),
  }
}

type Results = Record<keyof ReturnType<typeof callsOf>, Result>
type Check = (results: Results, trial: Trial) => string | undefined

const word = (result: Result): bigint | undefined =>
  succeeded(result) ? wordIn(result.returnData) : undefined

const forgeries: readonly [Forgery | 'forgedForContract', string][] = [
  ['forged', 'a signature of somebody else than the payer'],
  ['forgedForContract', 'a signature of somebody else than the payer, given as bytes'],
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

export const failsForGood = (reason: string): string =>
  `transferWithAuthorization fails for a good authorization: ${printable(reason)}`

const checkPays: Check = ({ one, many }) => {
  const failed = [one, many].find((result) => !succeeded(result))
  return failed && failsForGood(reasonOf(failed))
}

const checkMoves: Check = (results, { one, many }) => {
  const moved = (before: Result, after: Result): bigint => (word(after) ?? 0n) - (word(before) ?? 0n)
  const { payerBefore, payeeBefore, payerAfterOne, payeeAfterOne } = results
  const { payerBetween, payeeBetween, payerAfterMany, payeeAfterMany } = results
  const payments = [
    [one.amount, -moved(payerBefore, payerAfterOne), moved(payeeBefore, payeeAfterOne)],
    [many.amount, -moved(payerBetween, payerAfterMany), moved(payeeBetween, payeeAfterMany)],
  ] as const
  if (payments.some(([, lost, got]) => lost === 0n && got === 0n))
    return 'transferWithAuthorization moves nothing'
  const wrong = payments.find(([amount, lost, got]) => lost !== amount || got !== amount)
  return (
    wrong &&
    `transferWithAuthorization takes a fee: of ${wrong[0]} the payer lost ${wrong[1]} and the payee got ${wrong[2]}`
  )
}

const checkOnce: Check = ({ again, used }) => {
  if (succeeded(again)) return 'transferWithAuthorization does not revert on an authorization that was used'
  return word(used) === 1n ? undefined : 'authorizationState does not tell that an authorization was used'
}

const checkEvents: Check = (results, trial) =>
  (['one', 'many'] as const).every((name) => holdsTransfer(results[name].logs, trial.asset, trial[name]))
    ? undefined
    : 'transferWithAuthorization does not emit AuthorizationUsed and then Transfer of exactly the payment, by which it would be known to be settled'

/** What is wrong with the token, the plainest first; undefined where nothing is. */
export function problemIn(results: Results, trial: Trial): string | undefined {
  for (const check of [checkForgeries, checkPays, checkMoves, checkOnce, checkEvents]) {
    const problem = check(results, trial)
    if (problem !== undefined) return problem
  }
  return undefined
}
