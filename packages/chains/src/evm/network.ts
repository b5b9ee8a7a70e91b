import type { NetworkSettings } from '../family'
import type { Rpc } from './rpc'

/** A network as the parts of this family see it. */
export type EvmNetwork = Omit<NetworkSettings, 'signerKeys'> & {
  rpc: Rpc
  /** The addresses that sign settlements. */
  signers: readonly string[]
}
