import { type AcceptedPayment } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Networks } from '../networks/networks'

type Problem = { problem: string }

/**
 * Payment options as stored: the network by its name, asset and recipient in canonical spelling.
 *
 * @throws ApiError INVALID_REQUEST that names each option that can never be paid @throws ChainUnavailable
 * if an asset is configured but its network was not reached yet
 */
export async function readAccepts(
  accepts: readonly AcceptedPayment[],
  networks: Networks,
): Promise<AcceptedPayment[]> {
  const read: AcceptedPayment[] = []
  const problems: string[] = []
  for (const [index, way] of accepts.entries()) {
    const result = await readWay(way, networks)
    if ('problem' in result) problems.push(`accepts[${index}]${result.problem}`)
    else read.push(result)
  }
  if (problems.length > 0)
    throw new ApiError(
      'INVALID_REQUEST',
      `The request is not valid; correct it and send it again. ${problems.join('; ')}`,
    )
  return read
}

async function readWay(way: AcceptedPayment, networks: Networks): Promise<AcceptedPayment | Problem> {
  const network = networks.find(way.network)
  if (!network) {
    const names = networks.all.map(({ name }) => name).join(', ')
    return { problem: `.network: is not served; give one of: ${names}` }
  }
  const { name, family, chain } = network
  const asset = await networks.token(network, way.asset)
  if (!asset)
    return { problem: `.asset: is not registered on ${name}; give one that GET /api/v1/assets lists` }
  if (!asset.active)
    return { problem: `.asset: is not active on ${name} any more; give one that GET /api/v1/assets lists` }
  const payTo = family.parseAddress(way.payTo)
  if (payTo === undefined) return { problem: `.payTo: is no address of ${name}; give the one to be paid` }

  const { token } = asset
  const refusal = chain.payments.checkTerms({ token, payTo, amount: BigInt(way.maxAmountRequired) })
  if (refusal) return { problem: `: it cannot be paid, because ${refusal.detail}; correct it` }
  return { ...way, network: name, asset: token.asset, payTo }
}
