import { type Network } from '../../networks/network'

export type MonitoredSigner = {
  network: Pick<Network, 'name' | 'signerBalanceWarning'> & {
    chain: { signer: Pick<Network['chain']['signer'], 'funds' | 'findProblem'> }
  }
  signer: string
  /** Whether this process holds the signer's leader lock. */
  isLeader: () => boolean
}
