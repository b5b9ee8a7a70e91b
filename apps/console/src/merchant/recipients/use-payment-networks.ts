import { findAsset } from '../find-asset'
import { useFacilitator } from '../snippets/use-facilitator'
import { useAssets } from '../use-networks'

export type PaymentNetwork = { caip2: string; name: string; ecosystem: 'evm' | 'cosmos'; chainId: string }

/** The networks with an asset that payments may be made in, by name. */
export function usePaymentNetworks() {
  const facilitator = useFacilitator()
  const { data: named = [] } = useAssets()
  const networks = new Map<string, PaymentNetwork>()
  for (const { network: caip2, address } of facilitator.data?.assets ?? []) {
    const [namespace = '', chainId = ''] = caip2.split(':')
    const name = findAsset(named, { network: caip2, asset: address })?.network ?? caip2
    networks.set(caip2, { caip2, name, chainId, ecosystem: namespace === 'eip155' ? 'evm' : 'cosmos' })
  }
  const sorted = [...networks.values()].sort((one, other) => one.name.localeCompare(other.name))
  return { facilitator, networks: sorted }
}
