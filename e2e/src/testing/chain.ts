import { usdcAbi, USDC_ADDRESS } from '@tollgate/devnet'
import { Contract, JsonRpcProvider, type Log } from 'ethers'

/** The token as anybody sees it on the chain. */
export function tokenAt(rpcUrl: string) {
  const provider = new JsonRpcProvider(rpcUrl, undefined, { staticNetwork: true })
  const token = new Contract(USDC_ADDRESS, usdcAbi, provider)
  return {
    balanceOf: async (address: string) => (await token.getFunction('balanceOf')(address)) as bigint,
    /** The transfers of one transaction. */
    async transfersOf(transaction: string) {
      const receipt = await provider.getTransactionReceipt(transaction)
      if (receipt?.status !== 1) throw new Error(`Transaction ${transaction} did not succeed`)
      return receipt.logs.flatMap((log: Log) => {
        const event = token.interface.parseLog(log)
        if (event?.name !== 'Transfer') return []
        const [from, to, value] = event.args as unknown as [string, string, bigint]
        return [{ from, to, value }]
      })
    },
    close: () => provider.destroy(),
  }
}
