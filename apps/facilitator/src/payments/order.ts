import { type Payment, type Refusal, type Terms } from '@tollgate/chains'
import { type ReasonCode } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { spelled, type Network } from '../networks/network'
import { type Networks } from '../networks/networks'
import { type Asked, type WrongVersion } from './dialect'

/**
 * A payment and what it is for, after the checks that need no chain. An asset that is not active any more refuses new
 * payments only: what was claimed before is still asked about.
 */
export type Order = Pick<Asked, 'payload' | 'requestHash'> & {
  network: Network
  payment: Payment
  terms: Terms
  isAssetActive: boolean
  /** The least that a new payment in the asset may be of. */
  minAmount: bigint
  maxTimeoutSeconds: number
}

export const isRefusal = (value: object): value is Refusal => 'reason' in value

const refusal = (reason: ReasonCode, detail: string): Refusal => ({ reason, detail })

/**
 * Reads what is asked, or says why it is refused whatever the chain says.
 *
 * @throws ApiError INVALID_PAYLOAD where the signed payment cannot be decoded
 */
export async function readOrder(asked: Asked | WrongVersion, networks: Networks): Promise<Order | Refusal> {
  if (isRefusal(asked)) return asked
  const { required, accepted, payload, requestHash } = asked
  if (required.scheme !== 'exact' || accepted.scheme !== 'exact')
    return refusal('unsupported_scheme', 'only the scheme exact is taken')

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

  const terms = await readTerms(asked, network, networks)
  if (isRefusal(terms)) return terms
  const { maxTimeoutSeconds } = required
  const order = { network, payment, payload, requestHash, maxTimeoutSeconds, ...terms }
  return checkAccepted(accepted, order) ?? order
}

/** Whether new payments of this amount are taken in the order's asset. */
export function checkAsset({ isAssetActive, minAmount, terms }: Order): Refusal | undefined {
  if (!isAssetActive)
    return refusal('invalid_payment_requirements', 'the asset is not active on this network')
  if (terms.amount < minAmount)
    return refusal(
      'invalid_payment_requirements',
      `an amount of ${terms.amount} is below ${minAmount}, the least of this asset`,
    )
  return undefined
}

/** Whether a client key with this list of recipients may settle for the order's. */
export function checkRecipient(
  { network, terms }: Order,
  { payTo }: { payTo: readonly string[] },
): Refusal | undefined {
  const isAllowed =
    payTo.length === 0 || payTo.some((one) => network.family.parseAddress(one) === terms.payTo)
  return isAllowed
    ? undefined
    : refusal('invalid_payment_requirements', 'payTo is not in the list of recipients of the client key')
}

async function readTerms(
  { required: { asset, amount, payTo, extra } }: Asked,
  network: Network,
  networks: Networks,
): Promise<Pick<Order, 'terms' | 'isAssetActive' | 'minAmount'> | Refusal> {
  const found = await networks.token(network, asset)
  if (!found) return refusal('invalid_payment_requirements', 'the asset is not registered on this network')
  const recipient = network.family.parseAddress(payTo)
  if (recipient === undefined)
    return refusal('invalid_payment_requirements', 'payTo is no address of this network')
  if (amount === '0') return refusal('invalid_payment_requirements', 'an amount of zero pays nothing')
  const terms: Terms = {
    token: found.token,
    payTo: recipient,
    amount: BigInt(amount),
    ...(extra ? { extra } : {}),
  }
  return { terms, isAssetActive: found.active, minAmount: found.minAmount }
}

/** What the payer says that it pays must be what is required; the reasons are those for what it signed otherwise. */
function checkAccepted({ amount, asset, payTo }: Asked['accepted'], { network, terms }: Order) {
  const { parseAddress, mismatch } = network.family
  if (asset !== undefined && spelled(network, asset) !== terms.token.asset)
    return refusal('invalid_payment_requirements', 'the payer accepted another asset')
  if (payTo !== undefined && parseAddress(payTo) !== terms.payTo)
    return refusal(mismatch.payTo, 'the payer accepted to pay somebody else')
  if (amount !== undefined && BigInt(amount) !== terms.amount)
    return refusal(mismatch.amount, 'the payer accepted another amount')
  return undefined
}
