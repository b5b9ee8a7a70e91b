import { type Chain, type Family } from '@tollgate/chains'
import { type Ecosystem, type NetworkName } from '@tollgate/protocol'
import { type NetworkConfiguration } from './settings'

export type Families = Readonly<Partial<Record<Ecosystem, Family>>>

/** A network that payments are taken on: its names, its chain, and the family that reads its payments. */
export type Network = NetworkName &
  Pick<NetworkConfiguration, 'confirmationBudgetSeconds' | 'maxFeesPerDay'> & {
    /** In the native smallest unit: operators are warned of a signer that has less. */
    signerBalanceWarning: bigint
    family: Family
    chain: Chain
  }

export function connect(settings: NetworkConfiguration, families: Families): Network {
  const { name, ecosystem, chainId, confirmationBudgetSeconds, maxFeesPerDay, own } = settings
  const family = families[ecosystem]
  if (!family) throw new Error(`No chain family serves the ecosystem ${ecosystem} of ${name}`)
  const chain = family.connect({ ...settings, ...own })
  const signerBalanceWarning = settings.signerBalanceWarning ?? chain.ampleFunds
  const facts = { name, ecosystem, chainId, confirmationBudgetSeconds, signerBalanceWarning }
  return { ...facts, ...(maxFeesPerDay === undefined ? {} : { maxFeesPerDay }), family, chain }
}

/** The asset as its network spells it, where it can be one of its own. */
export const spelled = (network: Network, asset: string) => network.family.parseAsset(asset) ?? asset
