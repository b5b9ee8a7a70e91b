import { type Check, refuse, refuseSpent } from '../checks'
import type { Account } from './account'
import { type Case, feeChecks } from './checks'
import { GAS_MARGIN_PERCENT, withGasMargin } from './fees'
import { isSignedBy, readPublicKey } from './public-key'
import { signBytesOf } from './sign-bytes'
import { isSame } from './stated'

/** What the chain says of a payment. */
export type Facts = {
  /** The payer's; undefined where the chain has none. */
  account: Account | undefined
  /** Of the asset. */
  balance: bigint
  /** The newest block's. */
  height: bigint
  /** How many bytes a memo may have. */
  memoLimit: number
  /** Whether its fee can be taken now: from the payer, or by an allowance that is there. */
  isCovered: boolean
  /** What gas the transaction takes, or why it would fail now. */
  simulated: { gasUsed: bigint } | { failure: string }
}

type ChainCheck = Check<Case & { facts: Facts }>

const checkAccount: ChainCheck = ({ payment, facts: { account } }) => {
  if (account === undefined) return refuse('insufficient_funds', 'the payer has no account on the chain')
  const { accountNumber } = payment.stated
  return accountNumber != null && accountNumber !== account.accountNumber
    ? refuse('invalid_payload', 'the accountNumber is not that of the payer')
    : undefined
}

/** The key is the one that the chain knows the account by, if it has signed before: some chains let accounts change it. */
const checkKey: ChainCheck = ({ payment: { tx }, facts: { account } }) => {
  const known = account?.publicKey
  return known === undefined ||
    isSame(readPublicKey(known)?.bytes ?? new Uint8Array(), tx.signers[0]?.publicKey?.bytes)
    ? undefined
    : refuse('invalid_payload', 'the chain knows the payer by another key')
}

/** Of this chain and this account; the sequence that it is for is the transaction's own. */
const checkSignature: ChainCheck = ({ payment: { tx }, network: { chainId }, facts: { account } }) => {
  const [{ publicKey } = {}] = tx.signers
  const [signature] = tx.signatures
  const signBytes = account && signBytesOf(tx, { chainId, accountNumber: account.accountNumber })
  return publicKey && signature && signBytes && isSignedBy(publicKey, signBytes, signature)
    ? undefined
    : refuse('invalid_payload', 'the signature is not the payer’s for this transaction on this chain')
}

const checkSequence: ChainCheck = ({ payment: { tx }, facts: { account } }) => {
  const [sequence, next] = [tx.signers[0]?.sequence, account?.sequence]
  if (sequence === next) return undefined
  const detail = `the sequence is ${sequence}, the account’s next one ${next}`
  return sequence !== undefined && next !== undefined && sequence < next
    ? refuseSpent(detail)
    : refuse('invalid_transaction_state', detail)
}

/** Of blocks: so many that a transaction that is taken now is in one of them. */
const LEAST_TIME = 5n

/** What has to be in a block before, and is judged by the same measure after. */
const GRANT_TIME = 5n

const checkTimeout: ChainCheck = ({ payment: { tx }, facts: { height, isCovered } }) =>
  tx.timeoutHeight === 0n || tx.timeoutHeight >= height + LEAST_TIME + (isCovered ? 0n : GRANT_TIME)
    ? undefined
    : refuse('payment_expired', `times out at block ${tx.timeoutHeight}, and block ${height} is there`)

const checkMemo: ChainCheck = ({ payment: { tx }, facts: { memoLimit } }) => {
  const length = Buffer.byteLength(tx.memo)
  return length <= memoLimit
    ? undefined
    : refuse('invalid_payment', `a memo of ${length} bytes, where ${memoLimit} are allowed`)
}

/** Whether the payer has what it pays, and its fee where it bears that, beside what is spoken for. */
const checkBalance: ChainCheck = ({
  payment: { tx, amount },
  terms: { token },
  reserved,
  facts: { balance },
}) => {
  const fees = tx.fee.granter === '' ? tx.fee.coins.filter(({ denom }) => denom === token.asset) : []
  const needed = fees.reduce((sum, fee) => sum + fee.amount, amount + reserved)
  return balance < needed
    ? refuse(
        'insufficient_funds',
        `the payer has ${balance}${token.asset}, and needs ${needed}${token.asset}`,
      )
    : undefined
}

/**
 * The node counts what waits in its mempool: there a transaction with this sequence waits, most likely this one, which may
 * have used up the allowance that is on the chain still.
 */
const isWaiting = /account sequence mismatch|\bfee-?(?:grant| allowance) not found|\bfee limit exceeded/i

/** What it takes to charge an allowance, which cannot be simulated before it is there. */
const ALLOWANCE_GAS = 30_000n

const checkSimulation: ChainCheck = ({ payment: { tx }, facts: { simulated, isCovered } }) => {
  if ('failure' in simulated)
    return isCovered && isWaiting.test(simulated.failure)
      ? undefined
      : refuse('invalid_transaction_state', simulated.failure)
  const needed = withGasMargin(simulated.gasUsed + (isCovered ? 0n : ALLOWANCE_GAS))
  if (needed <= tx.fee.gas) return undefined
  const measured = `${simulated.gasUsed}${isCovered ? '' : ` and ${ALLOWANCE_GAS} for the allowance`}`
  return refuse(
    'invalid_payment',
    `gas ${tx.fee.gas}, simulated ${measured} with a margin of ${GAS_MARGIN_PERCENT} % asks ${needed}`,
  )
}

/** Checks of what the chain says, the plainest reason first. */
export const chainChecks: readonly ChainCheck[] = [
  checkAccount,
  checkKey,
  checkSignature,
  checkSequence,
  ...feeChecks,
  checkTimeout,
  checkMemo,
  checkBalance,
  checkSimulation,
]
