import { families, type Chain, type Family } from '@tollgate/chains'
import { type Families } from '../networks/network'

/** The members of a chain that a test replaces. */
export type Faults = { [Group in 'node' | 'signer' | 'payments' | 'tokens']?: Partial<Chain[Group]> }

/** The EVM family, with members of its chain replaced by `fault`. */
export function faulty(fault: (chain: Chain) => Faults): Families {
  const { evm } = families
  if (!evm) throw new Error('there is no EVM family')
  const family: Family = {
    ...evm,
    connect(settings) {
      const chain = evm.connect(settings)
      const { node, signer, payments, tokens } = fault(chain)
      return {
        ...chain,
        node: { ...chain.node, ...node },
        signer: { ...chain.signer, ...signer },
        payments: { ...chain.payments, ...payments },
        tokens: { ...chain.tokens, ...tokens },
      }
    },
  }
  return { evm: family }
}
