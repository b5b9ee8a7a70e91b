import { tokenAmount } from '@tollgate/protocol'
import { type Check, refuse, refuseSpent } from '../../../checks'
import type { Account } from '../../account'
import { type VerifyContext, feeChecks, refuseSignature } from './checks'
import { GAS_MARGIN_PERCENT, withGasMargin } from '../../settlement/fees'
import { isSignedBy, readPublicKey } from '../../signing/public-key'
import { signBytesOf } from '../../signing/sign-bytes'
import { isSame } from './unsigned-fields'

/** What the checks of a payment need from the chain. */
export type ChainState = {
  /** The payer's account; undefined if it does not exist. */
  account: Account | undefined
  /** The payer's balance of the asset. */
  balance: bigint
  /** The newest height. */
  height: bigint
  /** Maximum bytes of a memo. */
  memoLimit: number
  /** Whether the fee can be charged now: to the payer, or to an existing allowance; not if our signature is missing. */
  isCovered: boolean
  /** The gas of the transaction, or why it would fail now. */
  simulated: { gasUsed: bigint } | { failure: string }
}

type ChainCheck = Check<VerifyContext & { chainState: ChainState }>

const checkAccount: ChainCheck = ({ payment, chainState: { account } }) => {
  if (account === undefined) return refuse('insufficient_funds', 'the payer has no account on the chain')
  const { accountNumber } = payment.unsignedFields
  return accountNumber != null && accountNumber !== account.accountNumber
    ? refuse('invalid_payload', 'the accountNumber is not that of the payer')
    : undefined
}

/** The key must equal the account's key on the chain, if it has one: on some chains an account can change its key. */
const checkKey: ChainCheck = ({ payment: { tx }, chainState: { account } }) => {
  const known = account?.publicKey
  return known === undefined ||
    isSame(readPublicKey(known)?.bytes ?? new Uint8Array(), tx.signers[0]?.publicKey?.bytes)
    ? undefined
    : refuse('invalid_payload', 'the payer’s account has another public key on the chain')
}

/** Signs the chain and the account number too. The sequence is checked below. */
const checkSignature: ChainCheck = ({ payment, network: { chainId }, chainState: { account } }) => {
  const { tx } = payment
  const [{ publicKey } = {}] = tx.signers
  const [signature] = tx.signatures
  const signBytes = account && signBytesOf(tx, { chainId, accountNumber: account.accountNumber })
  return publicKey && signature && signBytes && isSignedBy(publicKey, signBytes, signature)
    ? undefined
    : refuseSignature(payment, { chainId, accountNumber: account?.accountNumber })
}

export const signatureChecks: readonly ChainCheck[] = [checkAccount, checkKey, checkSignature]

const checkSequence: ChainCheck = ({ payment: { tx }, chainState: { account } }) => {
  const [sequence, next] = [tx.signers[0]?.sequence, account?.sequence]
  if (sequence === next) return undefined
  const detail = `the sequence is ${sequence}, the account’s next one ${next}`
  return sequence !== undefined && next !== undefined && sequence < next
    ? refuseSpent(detail)
    : refuse('invalid_transaction_state', detail)
}

/** A transaction that is accepted now is mined within this many blocks. */
const MIN_BLOCKS_LEFT = 5n

/** More blocks for the fee grant that must be mined first. */
const GRANT_BLOCKS = 5n

const checkTimeout: ChainCheck = ({ payment: { tx }, chainState: { height, isCovered } }) =>
  tx.timeoutHeight === 0n || tx.timeoutHeight >= height + MIN_BLOCKS_LEFT + (isCovered ? 0n : GRANT_BLOCKS)
    ? undefined
    : refuse('payment_expired', `times out at block ${tx.timeoutHeight}, and the chain is at block ${height}`)

/**
 * While a transaction that we sign too waits, those with our later sequences wait for it: some minutes at most. The wallet package sets
 * 30 blocks, counted from the height of its own node.
 */
const MAX_BLOCKS_LEFT = 50n

const checkEnds: ChainCheck = ({ payment: { tx, countersigned }, chainState: { height } }) =>
  countersigned && (tx.timeoutHeight === 0n || tx.timeoutHeight > height + MAX_BLOCKS_LEFT)
    ? refuse(
        'invalid_payment',
        `a payment with a fee payer needs a timeout height at most ${MAX_BLOCKS_LEFT} blocks ahead`,
      )
    : undefined

const checkMemo: ChainCheck = ({ payment: { tx }, chainState: { memoLimit } }) => {
  const length = Buffer.byteLength(tx.memo)
  return length <= memoLimit
    ? undefined
    : refuse('invalid_payment', `a memo of ${length} bytes, more than the limit of ${memoLimit}`)
}

/** The payer needs the amount, the reserved part, and its fee unless another account pays it. */
const checkBalance: ChainCheck = ({
  payment: { tx, amount, countersigned },
  terms: { token },
  reserved,
  chainState: { balance },
}) => {
  const isOwnFee = tx.fee.granter === '' && !countersigned
  const fees = isOwnFee ? tx.fee.coins.filter(({ denom }) => denom === token.asset) : []
  const needed = fees.reduce((sum, fee) => sum + fee.amount, amount + reserved)
  return balance < needed
    ? refuse(
        'insufficient_funds',
        `the payer has ${tokenAmount(balance, token)}, and needs ${tokenAmount(needed, token)}`,
      )
    : undefined
}

/** The node also counts its mempool, which has a transaction with this sequence, probably this one, that uses the allowance. */
const isInMempool = /account sequence mismatch|\bfee-?(?:grant| allowance) not found|\bfee limit exceeded/i

/** The gas to charge an allowance, or of our signature, which cannot be simulated before there is one. */
const ALLOWANCE_GAS = 30_000n

const checkSimulation: ChainCheck = ({ payment: { tx }, chainState: { simulated, isCovered } }) => {
  if ('failure' in simulated)
    return isCovered && isInMempool.test(simulated.failure)
      ? undefined
      : refuse('invalid_transaction_state', simulated.failure)
  const needed = withGasMargin(simulated.gasUsed + (isCovered ? 0n : ALLOWANCE_GAS))
  if (needed <= tx.fee.gas) return undefined
  const measured = `${simulated.gasUsed}${isCovered ? '' : ` and ${ALLOWANCE_GAS} for who pays the fee`}`
  return refuse(
    'invalid_payment',
    `gas ${tx.fee.gas}, simulated ${measured} with a margin of ${GAS_MARGIN_PERCENT} % asks ${needed}`,
  )
}

/** In the order in which the reason helps the client most. */
export const chainChecks: readonly ChainCheck[] = [
  ...signatureChecks,
  checkSequence,
  ...feeChecks,
  checkTimeout,
  checkEnds,
  checkMemo,
  checkBalance,
  checkSimulation,
]
