import { type Network } from '../networks/network'

/** A signer of a network, as operators are told of it. */
export type WatchedSigner = {
  network: Pick<Network, 'name' | 'signerBalanceWarning'> & { chain: Pick<Network['chain'], 'funds'> }
  signer: string
  /** Whether this process is the one that sends its transactions: of all, one at a time does. */
  isOwner: () => boolean
}
