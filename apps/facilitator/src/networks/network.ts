import { type Chain, type Family } from '@tollgate/chains'
import { type Ecosystem, type NetworkName } from '@tollgate/protocol'
import { type NetworkConfiguration } from './settings'

export type Families = Readonly<Partial<Record<Ecosystem, Family>>>

export type Network = NetworkName &
  Pick<NetworkConfiguration, 'confirmations' | 'minRemainingValiditySeconds' | 'maxFeesPerDay'> & {
    /** In the native smallest unit. */
    signerBalanceWarning: bigint
    family: Family
    chain: Chain
  }

export function connect(settings: NetworkConfiguration, families: Families): Network {
  const { name, ecosystem, chainId, confirmations, minRemainingValiditySeconds, maxFeesPerDay, own } =
    settings
  const family = families[ecosystem]
  if (!family) throw new Error(`No chain family serves the ecosystem ${ecosystem} of ${name}`)
  const chain = family.connect({ ...settings, ...own })
  const signerBalanceWarning = settings.signerBalanceWarning ?? chain.signer.balanceThreshold
  const facts = { name, ecosystem, chainId, confirmations, minRemainingValiditySeconds, signerBalanceWarning }
  return { ...facts, ...(maxFeesPerDay === undefined ? {} : { maxFeesPerDay }), family, chain }
}

/** The canonical spelling of the asset; unchanged if it does not parse. */
export const spelled = (network: Network, asset: string) => network.family.parseAsset(asset) ?? asset
