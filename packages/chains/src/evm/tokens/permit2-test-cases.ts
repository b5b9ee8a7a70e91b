import { computeAddress, id } from 'ethers'
import type { TokenProblem } from '../../family'
import { addressWord, bytesWord, functionCall, uintWord, wordIn } from '../abi'
import { splitSignature } from '../signing/signature'
import { keccakOfHex, typedDigest } from '../signing/typed-data'
import { calls as authorizationCalls } from '../transfer-methods/eip3009/authorization'
import type { AuthorizedPayment } from '../transfer-methods/eip3009/payment'
import { PERMIT2, PROXY } from '../transfer-methods/permit2/contracts'
import type { PermittedPayment, TokenPermit } from '../transfer-methods/permit2/payment'
import { digestOf, holdsTransfer, settlementCall } from '../transfer-methods/permit2/transfer'
import { allowanceCall, balanceCall } from './erc20'
import { type Call, printable, reasonOf, type Result, succeeded } from './simulation'
import { READ_GAS } from './token'
import { AN_HOUR, HALF_AN_HOUR, largeAmount, newKey, newNonce, withoutSigner } from './token-test-cases'

const transferFrom = functionCall('transferFrom(address,address,uint256)')
const approve = functionCall('approve(address,uint256)')
const permit = functionCall('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)')
const PERMIT_TYPE = id('Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)')

export type Permit2TestCases = ReturnType<typeof preparePermit2TestCases>

/**
 * Payments of a new payer that has allowed nothing: one with a permit, then one of the smallest unit and one large enough to
 * reveal a fee, after an approval of exactly these two. `separator`: of the token's EIP-712 domain; without a true one its permits
 * fail. `time`: of the chain, in Unix seconds.
 */
export function preparePermit2TestCases(
  {
    asset,
    chainId,
    separator,
    decimals,
  }: { asset: string; chainId: string; separator: string; decimals: number },
  time: bigint,
) {
  const [key, otherKey] = [newKey(), newKey()]
  const [payer, payTo] = [computeAddress(key), computeAddress(newKey())]
  const deadline = time + AN_HOUR
  const large = largeAmount(decimals)

  /** The payer's first permit. */
  function permitFor(spender: string, by = key): TokenPermit {
    const values = [addressWord(payer), addressWord(spender), uintWord(1n), uintWord(0n), uintWord(deadline)]
    const digest = typedDigest(separator, keccakOfHex(bytesWord(PERMIT_TYPE) + values.join('')))
    const { serialized: signature } = by.sign(digest)
    return { owner: payer, asset, spender, value: 1n, nonce: 0n, deadline, signature }
  }
  function sign(amount: bigint, ownPermit?: TokenPermit): PermittedPayment {
    const permitNonce = BigInt(newNonce())
    const window = { validAfter: time - AN_HOUR, deadline, validUntil: deadline + 1n }
    const parties = { kind: 'permit2', payer, payTo, asset, spender: PROXY } as const
    const payment = {
      ...parties,
      ...window,
      amount,
      permitNonce,
      nonce: `permit2 ${permitNonce}`,
      signature: '0x',
    }
    const { serialized: signature } = key.sign(digestOf(payment, chainId))
    return { ...payment, signature, ...(ownPermit && { permit: ownPermit }) }
  }
  /** Somebody else signs it, as EIP-3009 has it. */
  const forgedAuthorization: AuthorizedPayment = {
    kind: 'eip3009',
    payer,
    payTo,
    amount: 1n,
    nonce: newNonce(),
    validAfter: time - AN_HOUR,
    validBefore: deadline,
    validUntil: deadline,
    signature: otherKey.sign(newNonce()).serialized,
  }
  return {
    asset,
    payer,
    payTo,
    later: time + HALF_AN_HOUR,
    /** More than all payments together. */
    endowment: 4n * large,
    byPermit: sign(1n, permitFor(PERMIT2)),
    one: sign(1n),
    many: sign(large),
    beyond: sign(1n),
    unapproved: sign(1n),
    forgedPermit: (spender: string) => permitFor(spender, otherKey),
    forgedAuthorization,
  }
}

function permitCall({ owner, spender, value, deadline, signature }: TokenPermit): string {
  const { v = 0, r = '0x', s = '0x' } = splitSignature(signature) ?? {}
  const words = [addressWord(owner), addressWord(spender), uintWord(value), uintWord(deadline)]
  return permit(...words, uintWord(v), bytesWord(r), bytesWord(s))
}

/** The calls that must move nothing come first. */
export function permit2CallsOf(
  cases: Permit2TestCases,
  { stranger, gas }: { stranger: string; gas: bigint },
) {
  const { payer, payTo, one, many } = cases
  const read = (data: string): Call => ({ data, gas: READ_GAS })
  const pay = (payment: PermittedPayment): Call => ({ to: PROXY, data: settlementCall(payment), gas })
  const forgedPermit = read(permitCall(cases.forgedPermit(stranger)))
  const forgedAuthorization = read(authorizationCalls.transfer(cases.forgedAuthorization, true))
  const now = {
    taken: read(transferFrom(addressWord(payer), addressWord(payTo), uintWord(1n))),
    forgedPermit,
    nobodysPermit: withoutSigner(forgedPermit, 4),
    forgedAuthorization,
    nobodysAuthorization: withoutSigner(forgedAuthorization, 6),
    strangersAllowance: read(allowanceCall(payer, stranger)),
    payerUntouched: read(balanceCall(payer)),
    allowanceBefore: read(allowanceCall(payer, PERMIT2)),
    unapproved: pay(cases.unapproved),
    payerBefore: read(balanceCall(payer)),
    payeeBefore: read(balanceCall(payTo)),
    byPermit: pay(cases.byPermit),
    payerAfterPermit: read(balanceCall(payer)),
    payeeAfterPermit: read(balanceCall(payTo)),
    approve: { ...read(approve(addressWord(PERMIT2), uintWord(one.amount + many.amount))), from: payer },
    one: pay(one),
    payerAfterOne: read(balanceCall(payer)),
    payeeAfterOne: read(balanceCall(payTo)),
    many: pay(many),
    payerAfterMany: read(balanceCall(payer)),
    payeeAfterMany: read(balanceCall(payTo)),
    allowanceAfter: read(allowanceCall(payer, PERMIT2)),
    beyond: pay(cases.beyond),
    payerAtEnd: read(balanceCall(payer)),
    payeeAtEnd: read(balanceCall(payTo)),
  }
  const afterwards = { payerLater: read(balanceCall(payer)), payeeLater: read(balanceCall(payTo)) }
  return { now, later: { time: cases.later, calls: afterwards } }
}

type Calls = ReturnType<typeof permit2CallsOf>
export type Permit2Results = Record<keyof Calls['now'] | keyof Calls['later']['calls'], Result>
const payments = ['byPermit', 'one', 'many'] as const
/** `made`: the payments that succeeded. */
type Question = {
  results: Permit2Results
  cases: Permit2TestCases
  made: readonly (typeof payments)[number][]
}
/** Returns what the results prove against the token. */
type Check = (question: Question) => string | undefined

const word = ({ status, returnData }: Result): bigint | undefined =>
  status === 1n ? wordIn(returnData) : undefined

const checkStrangers: Check = ({ results, cases }) => {
  if (word(results.strangersAllowance) !== 0n)
    return 'permit takes a signature of somebody else than the holder, or one that was never made'
  return word(results.payerUntouched) === cases.endowment
    ? undefined
    : 'a stranger can move what its holder neither signed nor allowed'
}

const checkAllowance: Check = ({ results }) => {
  const exceeds = (allowance: Result, payment: Result) => succeeded(payment) && (word(allowance) ?? 0n) < 1n
  return exceeds(results.allowanceBefore, results.unapproved) ||
    exceeds(results.allowanceAfter, results.beyond)
    ? 'transferFrom moves more than the holder has allowed'
    : undefined
}

const checkMoves: Check = ({ results, cases, made }) => {
  const balance = (name: keyof Permit2Results) => word(results[name]) ?? 0n
  const [before, afterPermit, afterOne] = [
    [balance('payerBefore'), balance('payeeBefore')],
    [balance('payerAfterPermit'), balance('payeeAfterPermit')],
    [balance('payerAfterOne'), balance('payeeAfterOne')],
  ] as const
  const states = {
    byPermit: [before, afterPermit],
    one: [afterPermit, afterOne],
    many: [afterOne, [balance('payerAfterMany'), balance('payeeAfterMany')]],
  } as const
  for (const name of made) {
    const [[payerThen, payeeThen], [payerNow, payeeNow]] = states[name]
    const { amount } = cases[name]
    const [lost, got] = [payerThen - payerNow, payeeNow - payeeThen]
    if (lost === 0n && got === 0n) return 'transferFrom moves nothing'
    if (lost !== amount || got !== amount)
      return `transferFrom takes a fee: of ${amount} the payer lost ${lost} and the payee got ${got}`
  }
  return undefined
}

const checkEvents: Check = ({ results, cases, made }) =>
  made.every((name) => holdsTransfer(results[name], cases.asset, cases[name]))
    ? undefined
    : 'transferFrom does not emit Transfer of exactly the payment, by which it would be known to be settled'

const checkLater: Check = ({ results }) =>
  word(results.payerLater) === word(results.payerAtEnd) &&
  word(results.payeeLater) === word(results.payeeAtEnd)
    ? undefined
    : 'its balances change without a transfer'

/** A proven fault comes before a failed payment. `takesPermits`: a payer that has approved nothing can bring a permit. */
export function permit2Outcome(
  results: Permit2Results,
  cases: Permit2TestCases,
): TokenProblem | { takesPermits: boolean } {
  const made = payments.filter((name) => succeeded(results[name]))
  for (const check of [checkStrangers, checkAllowance, checkMoves, checkEvents, checkLater]) {
    const problem = check({ results, cases, made })
    if (problem !== undefined) return { problem, isTokensFault: true }
  }
  const failed = [results.one, results.many].find((result) => !succeeded(result))
  if (failed === undefined) return { takesPermits: succeeded(results.byPermit) }
  const reason = reasonOf(succeeded(results.approve) ? failed : results.approve)
  return {
    problem: `transferFrom by Permit2 fails for a good payment: ${printable(reason)}`,
    isTokensFault: false,
  }
}
