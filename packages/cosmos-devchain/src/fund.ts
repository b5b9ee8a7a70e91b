import { callRpc } from './call-rpc'

/** Creates `coins`, such as `5uatom,1uusdc`, for an address; they are on the chain when this returns. */
export async function fundCosmosWallet(rpcUrl: string, address: string, coins: string): Promise<void> {
  await callRpc(rpcUrl, 'dev_fund', address, coins)
}
