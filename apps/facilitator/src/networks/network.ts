import { type Chain, type Family } from '@tollgate/chains'
import { type Ecosystem, type NetworkName } from '@tollgate/protocol'
import { type NetworkConfiguration } from './settings'

export type Families = Readonly<Partial<Record<Ecosystem, Family>>>

/** A network that payments are taken on: its names, its chain, and the family that reads its payments. */
export type Network = NetworkName & { family: Family; chain: Chain; confirmationBudgetSeconds: number }

export function connect(settings: NetworkConfiguration, families: Families): Network {
  const { name, ecosystem, chainId, confirmationBudgetSeconds } = settings
  const family = families[ecosystem]
  if (!family) throw new Error(`No chain family serves the ecosystem ${ecosystem} of ${name}`)
  return { name, ecosystem, chainId, confirmationBudgetSeconds, family, chain: family.connect(settings) }
}

/** The asset as its network spells it, where it is one of its addresses. */
export const spelled = (network: Network, asset: string) => network.family.parseAddress(asset) ?? asset
