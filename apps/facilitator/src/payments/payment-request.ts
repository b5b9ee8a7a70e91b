import { type Payment, type Refusal, type Terms } from '@tollgate/chains'
import { tokenAmount, type ReasonCode } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { spelled, type Network } from '../networks/network'
import { type Networks } from '../networks/networks'
import { type SettlementRequest, type WrongVersion } from './versions/version'
import { isRefusal } from '../settlement/refusal'

/**
 * A payment that passed the checks that need no chain. `isAssetActive` is checked at the claim: an inactive asset refuses only
 * new payments.
 */
export type PaymentRequest = Pick<
  SettlementRequest,
  'payload' | 'resource' | 'paymentIdentifier' | 'requestHash'
> & {
  network: Network
  payment: Payment
  terms: Terms
  isAssetActive: boolean
  minAmount: bigint
  maxTimeoutSeconds: number
}

const refusal = (reason: ReasonCode, detail: string): Refusal => ({ reason, detail })

/** @throws ApiError INVALID_PAYLOAD if the signed payment cannot be decoded */
export async function parsePaymentRequest(
  settlementRequest: SettlementRequest | WrongVersion,
  networks: Networks,
): Promise<PaymentRequest | Refusal> {
  if (isRefusal(settlementRequest)) return settlementRequest
  const { required, accepted, payload, resource, paymentIdentifier, requestHash } = settlementRequest
  if (required.scheme !== 'exact' || accepted.scheme !== 'exact')
    return refusal('unsupported_scheme', 'only the scheme exact is supported')

  const network = networks.find(required.network)
  if (!network) return refusal('invalid_network', 'the network is not served')
  if (networks.find(accepted.network) !== network)
    return refusal('invalid_network', 'the payment is for another network than the requirements')

  const payment = network.family.readPayment(payload)
  if (!payment)
    throw new ApiError(
      'INVALID_PAYLOAD',
      'The payment payload cannot be decoded; sign the payment and send it again',
    )

  const terms = await readTerms(settlementRequest, network, networks)
  if (isRefusal(terms)) return terms
  const { maxTimeoutSeconds } = required
  const named = { resource, paymentIdentifier, requestHash, maxTimeoutSeconds }
  const request = { network, payment, payload, ...named, ...terms }
  return checkAccepted(accepted, request) ?? request
}

export function checkAsset({ isAssetActive, minAmount, terms }: PaymentRequest): Refusal | undefined {
  if (!isAssetActive)
    return refusal('invalid_payment_requirements', 'the asset is not active on this network')
  if (terms.amount < minAmount) {
    const [asked, least] = [terms.amount, minAmount].map((amount) => tokenAmount(amount, terms.token))
    return refusal('invalid_payment_requirements', `${asked} is below ${least}, the least of this asset`)
  }
  return undefined
}

/** An empty list of recipients allows all. */
export function checkRecipient(
  { network, terms }: PaymentRequest,
  { payTo }: { payTo: readonly string[] },
): Refusal | undefined {
  const isAllowed =
    payTo.length === 0 || payTo.some((recipient) => network.family.parseAddress(recipient) === terms.payTo)
  return isAllowed
    ? undefined
    : refusal('invalid_payment_requirements', 'payTo is not in the list of recipients of the client key')
}

async function readTerms(
  { required: { asset, amount, payTo, extra } }: SettlementRequest,
  network: Network,
  networks: Networks,
): Promise<Pick<PaymentRequest, 'terms' | 'isAssetActive' | 'minAmount'> | Refusal> {
  const registered = await networks.token(network, asset)
  if (!registered)
    return refusal('invalid_payment_requirements', 'the asset is not registered on this network')
  const recipient = network.family.parseAddress(payTo)
  if (recipient === undefined)
    return refusal('invalid_payment_requirements', 'payTo is not an address of this network')
  if (amount === '0') return refusal('invalid_payment_requirements', 'an amount of zero pays nothing')
  const terms: Terms = {
    token: registered.token,
    payTo: recipient,
    amount: BigInt(amount),
    ...(extra ? { extra } : {}),
  }
  return { terms, isAssetActive: registered.active, minAmount: registered.minAmount }
}

/** What the payer accepted must match the requirements. The reasons are those for a mismatch in the signed payment. */
function checkAccepted(
  { amount, asset, payTo }: SettlementRequest['accepted'],
  { network, terms }: PaymentRequest,
) {
  const { parseAddress, mismatch } = network.family
  if (asset !== undefined && spelled(network, asset) !== terms.token.asset)
    return refusal('invalid_payment_requirements', 'the payer accepted another asset')
  if (payTo !== undefined && parseAddress(payTo) !== terms.payTo)
    return refusal(mismatch.payTo, 'the payer accepted another recipient')
  if (amount !== undefined && BigInt(amount) !== terms.amount)
    return refusal(mismatch.amount, 'the payer accepted another amount')
  return undefined
}
