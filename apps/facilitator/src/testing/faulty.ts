import { families, type Chain, type Family } from '@tollgate/chains'
import { type Families } from '../networks/network'

export function faulty(fault: (chain: Chain) => Partial<Chain>): Families {
  const { evm } = families
  if (!evm) throw new Error('there is no EVM family')
  const family: Family = {
    ...evm,
    connect(settings) {
      const chain = evm.connect(settings)
      return { ...chain, ...fault(chain) }
    },
  }
  return { evm: family }
}
