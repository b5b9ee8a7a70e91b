import { type Check, refuse } from '../../checks'
import type { OfflineSignature, PaymentStatus, Payment, Refusal } from '../../family'
import type { Case, OfflineCase } from './checks'
import type { EvmNetwork } from '../network'
import type { Rpc } from '../rpc'
import { Data } from '../rpc-schemas'
import { timeAt } from '../observation/log-search'
import { isSignedByKey } from '../signing/signature'
import { isWrapper, type ReadSignature } from '../signing/wrapped-signature'

/** A payment that its payer signs and our signer submits. */
export type RelayedPayment = Payment &
  ReadSignature & {
    /** Unix seconds: the payment cannot settle earlier. */
    validAfter: bigint
    validUntil: bigint
  }

export type RelayedPaymentState = {
  /** Unix seconds. */
  chainTime: bigint
  /** Whether the payer has code, now or by its deployment. Undefined if its signature is not wrapped. */
  isDeployed: boolean | undefined
  /** Signed by the payer's key, or accepted by the payer's contract. */
  signatureHolds: boolean
}

type OfflineCheck = Check<OfflineCase<RelayedPayment>>
type ChainCheck = Check<Case<RelayedPayment> & { chainState: RelayedPaymentState }>

/** Twice the longest timeout of x402: a longer validity is a mistake. */
const LONGEST_LIFE_SECONDS = 2n * 86_400n

/** The first second of the year 10000. A later time is mostly one in milliseconds. */
const YEAR_10000 = 253_402_300_800n

const utc = (seconds: bigint): string =>
  seconds < YEAR_10000
    ? new Date(Number(seconds) * 1_000).toISOString().replace('.000Z', 'Z')
    : `Unix second ${seconds}`

type Clock = 'this service' | 'the chain'

const timeOf = (clock: Clock, now: bigint): string => `the clock of ${clock} says ${utc(now)}`

export const refuseEarly = (validAfter: bigint, clock: Clock, now: bigint): Refusal =>
  refuse(
    'invalid_exact_evm_payload_authorization_valid_after',
    `not valid before ${utc(validAfter)}, and ${timeOf(clock, now)}`,
  )

const checkWindowBy =
  (clock: Clock): OfflineCheck =>
  ({ payment: { validAfter, validUntil }, now, network }) => {
    if (validAfter > now) return refuseEarly(validAfter, clock, now)
    const { minRemainingValiditySeconds: budget } = network
    const problem =
      (validUntil <= validAfter && `before it begins at ${utc(validAfter)}`) ||
      (validUntil <= now && 'so it has expired') ||
      (validUntil <= now + BigInt(budget) && `and a settlement needs more than ${budget} s`) ||
      (validUntil > now + LONGEST_LIFE_SECONDS && 'more than two days from now')
    return problem
      ? refuse(
          'invalid_exact_evm_payload_authorization_valid_before',
          `valid before ${utc(validUntil)}, ${problem}: ${timeOf(clock, now)}`,
        )
      : undefined
  }

export const checkWindow = checkWindowBy('this service')
const checkWindowOfChain = checkWindowBy('the chain')

export const checkWrapper: OfflineCheck = ({ payment }) =>
  isWrapper(payment.signature)
    ? refuse('invalid_exact_evm_payload_signature', 'the ERC-6492 wrapper is malformed or holds another one')
    : undefined

export const checkDeployed: ChainCheck = ({ chainState }) =>
  chainState.isDeployed === false
    ? refuse(
        'invalid_exact_evm_payload_undeployed_smart_wallet',
        'a wrapped signature of an account without code: deploy the wallet first',
      )
    : undefined

/** Undefined if the signature is not wrapped. */
export const readHasCode = async (
  rpc: Rpc,
  { payer, deployment }: RelayedPayment,
): Promise<boolean | undefined> =>
  deployment && (await rpc.call(Data, 'eth_getCode', [payer, 'latest'])) !== '0x'

/** `domain`: the EIP-712 domain that the payer must sign in. */
export const refuseSignature = ({ payer }: Payment, domain: object): Refusal => {
  const members = Object.entries(domain).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return refuse(
    'invalid_exact_evm_payload_signature',
    `not signed by ${payer} in the EIP-712 domain ${members.join(', ')}`,
  )
}

export const readByKey = (payment: RelayedPayment, digest: Uint8Array, domain: object): OfflineSignature =>
  isSignedByKey(payment, digest)
    ? { signature: 'valid' }
    : { signature: 'not-by-key', refusal: refuseSignature(payment, domain) }

/** The chain's clock may be ahead of ours. */
export const checkWindowOnChain: ChainCheck = ({ chainState, ...question }) =>
  chainState.chainTime > question.now
    ? checkWindowOfChain({ ...question, now: chainState.chainTime })
    : undefined

const lapsed: PaymentStatus = {
  status: 'void',
  reason: 'payment_expired',
  detail: 'the authorization lapsed before anybody used it',
}

/**
 * Status of an unused payment: void if no block after the newest confirmed one (number `confirmed`) can include it, because block
 * timestamps only increase.
 */
export async function unusedPaymentStatus(
  network: EvmNetwork,
  { validUntil }: RelayedPayment,
  confirmed: bigint,
): Promise<PaymentStatus> {
  if (confirmed < 0n) return { status: 'open' }
  return (await timeAt(network, confirmed)) >= validUntil ? lapsed : { status: 'open' }
}
