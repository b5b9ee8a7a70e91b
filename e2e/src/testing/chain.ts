import { usdcAbi, USDC_ADDRESS } from '@tollgate/devnet'
import { Contract, JsonRpcProvider, type Log } from 'ethers'

/** Payments on the chain: payer, transaction and amount. */
export type Authorizations = { payer: string; nonce: string; transaction: string; value: bigint }[]

export function tokenAt(rpcUrl: string) {
  // Disables the cache, which repeats results for 250 ms.
  const provider = new JsonRpcProvider(rpcUrl, undefined, { staticNetwork: true, cacheTimeout: -1 })
  const token = new Contract(USDC_ADDRESS, usdcAbi, provider)
  return {
    balanceOf: async (address: string) => (await token.getFunction('balanceOf')(address)) as bigint,
    /** The address's transfers in one transaction, which others may share. */
    async transfersOf(transaction: string, payer: string) {
      const receipt = await provider.getTransactionReceipt(transaction)
      if (receipt?.status !== 1) throw new Error(`Transaction ${transaction} did not succeed`)
      return receipt.logs.flatMap((log: Log) => {
        const event = token.interface.parseLog(log)
        if (event?.name !== 'Transfer') return []
        const [from, to, value] = event.args as unknown as [string, string, bigint]
        return from === payer ? [{ from, to, value }] : []
      })
    },
    /**
     * Every payment to an address, from the first block on: the used authorization, and its transfer.
     *
     * @throws Error if an authorization and its transfer are not adjacent, as the token emits them
     */
    async authorizationsTo(address: string): Promise<Authorizations> {
      const target = await token.getAddress()
      const logs = await provider.getLogs({ address: target, fromBlock: 0, toBlock: 'latest' })
      const events = logs.map((log) => ({ log, event: token.interface.parseLog(log) }))
      return events.flatMap(({ log, event }, i) => {
        if (event?.name !== 'Transfer') return []
        const [from, to, value] = event.args as unknown as [string, string, bigint]
        if (to !== address) return []
        const before = events[i - 1]
        const [payer, nonce] = (before?.event?.args ?? []) as unknown as [string?, string?]
        if (before?.event?.name !== 'AuthorizationUsed' || payer !== from || nonce === undefined)
          throw new Error(`Transaction ${log.transactionHash} moved money without an authorization`)
        return [{ payer, nonce, transaction: log.transactionHash, value }]
      })
    },
    close: () => provider.destroy(),
  }
}
