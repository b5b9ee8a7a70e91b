import { type Network } from '../networks/network'

/** A signer of a network, whose transactions one process at a time sends. */
export type Lane = {
  network: Pick<Network, 'name' | 'signerBalanceWarning'> & { chain: Pick<Network['chain'], 'funds'> }
  signer: string
  /** Whether this process is that one. */
  isOwner: () => boolean
}
