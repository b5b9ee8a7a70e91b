import { ApiError } from '@tollgate/service'
import { type Network } from './network'
import { type Networks } from './networks'

/** @throws ApiError INVALID_REQUEST that names the networks */
export function getNetwork(networks: Pick<Networks, 'find' | 'all'>, text: string): Network {
  const network = networks.find(text)
  if (network) return network
  const names = networks.all.map(({ name }) => name).join(', ')
  throw new ApiError('INVALID_REQUEST', `Unsupported network; it is one of: ${names}`)
}
