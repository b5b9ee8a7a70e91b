import { type Network } from '../../networks/network'

export type MonitoredSigner = {
  network: Pick<Network, 'name' | 'signerBalanceWarning'> & { chain: Pick<Network['chain'], 'funds'> }
  signer: string
  /** Whether this process holds the signer's leader lock. */
  isOwner: () => boolean
}
