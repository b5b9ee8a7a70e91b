import { callRpc } from './call-rpc'

/** Adds coins, `1000000uatom` or some of them with commas, to what an address holds. It is on the chain when this returns. */
export async function fundCosmosWallet(rpcUrl: string, address: string, coins: string): Promise<void> {
  await callRpc(rpcUrl, 'dev_fund', address, coins)
}
