import { type Check, refuse, refuseSpent } from '../../../checks'
import { sameAddress } from '../../address'
import { type Case, checkBalance, commonChecks, type OfflineCase } from '../checks'
import { MOST_GAS } from '../../settlement/gas-model'
import { isOutOfGas } from '../../revert'
import type { RawTransfer } from './payment'

export type ChainState = {
  baseFee: bigint
  /** The node's suggestion; 0 if it makes none. */
  tip: bigint
  /** The payer's next nonce: `mined` counts mined transactions only, `waiting` also those in the mempool. */
  nonce: { mined: bigint; waiting: bigint }
  /** The payer's balance for gas, in the native smallest unit. */
  funds: bigint
  /** The payer's balance of the asset; undefined if the contract has no balanceOf. */
  balance: bigint | undefined
  /** Why the transfer would fail now. */
  failure: string | undefined
}

type OwnCheck = Check<OfflineCase<RawTransfer>>
type OfflineCheck = Check<Case<RawTransfer>>
type ChainCheck = Check<Case<RawTransfer> & { chainState: ChainState }>

const checkNetwork: OwnCheck = ({ payment: { chainId }, network }) =>
  chainId === BigInt(network.chainId)
    ? undefined
    : refuse(
        'invalid_network',
        `the transaction is for chain ${chainId}, and the network is chain ${network.chainId}`,
      )

const checkAsset: OwnCheck = ({ payment: { asset }, terms: { token } }) =>
  sameAddress(asset, token.asset)
    ? undefined
    : refuse('invalid_payment', 'the transaction calls another contract than the asset')

/** Payers set higher gas limits than ours, but a limit above this factor is a mistake, or crowds a block. */
const ROOM = 4n

const checkGasLimit: OwnCheck = ({ payment: { gasLimit }, network: { maxGas } }) => {
  const most = ROOM * maxGas < MOST_GAS ? ROOM * maxGas : MOST_GAS
  return gasLimit <= most
    ? undefined
    : refuse('invalid_payment', `a gas limit of ${gasLimit} is more than ${most}`)
}

export const ownChecks: readonly OwnCheck[] = [checkNetwork, checkAsset, checkGasLimit]

export const offlineChecks: readonly OfflineCheck[] = [...commonChecks, ...ownChecks]

/** What the payer signed, whatever gas it took. */
export const signedChecks: readonly OfflineCheck[] = [...commonChecks, checkNetwork, checkAsset]

const checkNonce: ChainCheck = ({ payment: { accountNonce }, chainState: { nonce } }) => {
  if (accountNonce < nonce.mined) return refuseSpent(`the account nonce ${accountNonce} is used`)
  return accountNonce > nonce.mined && accountNonce > nonce.waiting
    ? refuse('invalid_transaction_state', `the account nonce ${accountNonce} is past the next one`)
    : undefined
}

/** Suggested tips fluctuate; a tenth of the suggestion is mined too, only later. */
const PART_OF_USUAL_TIP = 10n

/** We cannot replace the transaction, so its tip after the base fee must suffice. */
const checkFees: ChainCheck = ({ payment: { maxFeePerGas, maxPriorityFeePerGas }, chainState }) => {
  const { baseFee, tip } = chainState
  const room = maxFeePerGas - baseFee
  const offered = room < maxPriorityFeePerGas ? room : maxPriorityFeePerGas
  return offered * PART_OF_USUAL_TIP < tip
    ? refuse(
        'invalid_transaction_state',
        `offers ${offered} wei above the base fee of ${baseFee} wei, where ${tip} wei is usual`,
      )
    : undefined
}

const checkFunds: ChainCheck = ({ payment: { gasLimit, maxFeePerGas }, chainState: { funds } }) =>
  funds < gasLimit * maxFeePerGas
    ? refuse(
        'insufficient_funds',
        `the payer has ${funds} wei for gas, and offers up to ${gasLimit * maxFeePerGas} wei`,
      )
    : undefined

const checkToken: ChainCheck = ({ chainState: { balance } }) =>
  balance === undefined
    ? refuse('invalid_payment_requirements', 'the asset does not tell a balance')
    : undefined

const checkSimulation: ChainCheck = ({ payment: { gasLimit }, chainState: { failure } }) => {
  if (failure === undefined) return undefined
  const detail = isOutOfGas(failure) ? `a gas limit of ${gasLimit} does not suffice: ${failure}` : failure
  return refuse('invalid_transaction_state', detail)
}

/** In the order in which the reason helps the client most. */
export const chainChecks: readonly ChainCheck[] = [
  checkNonce,
  checkFees,
  checkFunds,
  checkToken,
  checkBalance,
  checkSimulation,
]
