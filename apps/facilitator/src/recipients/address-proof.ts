import { type Nodes, type SignInProof } from '@tollgate/chains'
import { type Network } from '../networks/network'
import { type NetworkConfiguration } from '../networks/settings'

export type AddressProof = ReturnType<typeof createAddressProof>

/** Checks whether an address signed a text: with its key, or as a contract wallet of this network (EIP-1271). */
export function createAddressProof(configured: readonly NetworkConfiguration[]) {
  const nodes = new Map<string, Nodes>(configured.map((settings) => [settings.name, nodesOf(settings)]))

  /** Rejects with `ChainUnavailable` if only the chain can tell and no node answers. */
  return async function isSigned({ name, family }: Network, proof: SignInProof): Promise<boolean> {
    if (family.verifySignIn(proof)) return true
    const reachable = nodes.get(name)
    return (reachable && (await family.verifyContractSignIn?.(proof, reachable))) ?? false
  }
}

const nodesOf = ({ name, chainId, rpcUrls, rpcTimeoutMs }: NetworkConfiguration): Nodes => ({
  name,
  chainId,
  rpcUrls,
  rpcTimeoutMs,
})
