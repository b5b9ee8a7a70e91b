import { type Chain, type Family } from '@tollgate/chains'
import { type Ecosystem, type NetworkName } from '@tollgate/protocol'
import { type NetworkConfiguration } from './settings'

export type Families = Readonly<Partial<Record<Ecosystem, Family>>>

/** A network that payments are taken on: its names, its chain, and the family that reads its payments. */
export type Network = NetworkName &
  Pick<NetworkConfiguration, 'confirmationBudgetSeconds' | 'signerBalanceWarning'> & {
    family: Family
    chain: Chain
  }

export function connect(settings: NetworkConfiguration, families: Families): Network {
  const { name, ecosystem, chainId, confirmationBudgetSeconds, signerBalanceWarning } = settings
  const family = families[ecosystem]
  if (!family) throw new Error(`No chain family serves the ecosystem ${ecosystem} of ${name}`)
  const chain = family.connect(settings)
  return { name, ecosystem, chainId, confirmationBudgetSeconds, signerBalanceWarning, family, chain }
}

/** The asset as its network spells it, where it is one of its addresses. */
export const spelled = (network: Network, asset: string) => network.family.parseAddress(asset) ?? asset
