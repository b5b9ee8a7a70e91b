import { type Payment, type Refusal, type Terms } from '@tollgate/chains'
import { type ReasonCode, type SettleRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Networks } from '../networks/networks'

/**
 * A payment and what it is for, after the checks that need no chain. An asset that is not active any more refuses new
 * payments only: what was claimed before is still asked about.
 */
export type Order = { network: Network; payment: Payment; terms: Terms; isAssetActive: boolean }

export const isRefusal = (value: object): value is Refusal => 'reason' in value

const refusal = (reason: ReasonCode, detail: string): Refusal => ({ reason, detail })

/**
 * Reads what a request asks for, or says why it is refused whatever the chain says.
 *
 * @throws ApiError INVALID_PAYLOAD where the signed payment cannot be decoded
 */
export async function readOrder(request: SettleRequest, networks: Networks): Promise<Order | Refusal> {
  const { paymentPayload, paymentRequirements } = request
  const problem = checkVersion(request) ?? checkScheme(request)
  if (problem) return problem

  const network = networks.find(paymentRequirements.network)
  if (!network) return refusal('invalid_network', 'the network is not served')
  if (networks.find(paymentPayload.network) !== network)
    return refusal('invalid_network', 'the payment is for another network than the requirements')

  const payment = network.family.readPayment(paymentPayload.payload)
  if (!payment)
    throw new ApiError(
      'INVALID_PAYLOAD',
      'The payment payload cannot be decoded; sign the payment and send it again',
    )

  const terms = await readTerms(request, network, networks)
  return isRefusal(terms) ? terms : { network, payment, ...terms }
}

function checkVersion({ x402Version = 1, paymentPayload, paymentRequirements }: SettleRequest) {
  const versions = [x402Version, paymentPayload.x402Version, paymentRequirements.x402Version ?? 1]
  if (versions.some((version) => version !== 1))
    return refusal('invalid_x402_version', 'only version 1 is taken here')
  return undefined
}

function checkScheme({ paymentPayload, paymentRequirements }: SettleRequest) {
  if (paymentRequirements.scheme !== 'exact' || paymentPayload.scheme !== 'exact')
    return refusal('unsupported_scheme', 'only the scheme exact is taken')
  return undefined
}

/** Whether new payments are taken in the order's asset. */
export const checkAsset = ({ isAssetActive }: Order) =>
  isAssetActive
    ? undefined
    : refusal('invalid_payment_requirements', 'the asset is not active on this network')

async function readTerms(
  { paymentRequirements }: SettleRequest,
  network: Network,
  networks: Networks,
): Promise<Pick<Order, 'terms' | 'isAssetActive'> | Refusal> {
  const { maxAmountRequired, extra } = paymentRequirements
  const asset = await networks.token(network, paymentRequirements.asset)
  if (!asset) return refusal('invalid_payment_requirements', 'the asset is not registered on this network')
  const payTo = network.family.parseAddress(paymentRequirements.payTo)
  if (payTo === undefined)
    return refusal('invalid_payment_requirements', 'payTo is no address of this network')
  const amount = BigInt(maxAmountRequired)
  if (amount === 0n) return refusal('invalid_payment_requirements', 'an amount of zero pays nothing')
  const terms: Terms = { token: asset.token, payTo, amount, ...(extra ? { extra } : {}) }
  return { terms, isAssetActive: asset.active }
}
