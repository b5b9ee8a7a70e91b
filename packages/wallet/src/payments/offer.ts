/** One entry of the `accepts` of a 402, of either version of x402. */
export type Offer = {
  x402Version: 1 | 2
  scheme: string
  /** As CAIP-2, such as `eip155:84532`, `cosmos:cosmoshub-4`. */
  network: string
  asset: string
  payTo: string
  /** In the asset's smallest unit. */
  amount: bigint
  maxTimeoutSeconds: number
  extra: Record<string, unknown>
  /** The entry as it was offered: version 2 returns it in `accepted`, version 1 its name of the network. */
  entry: Record<string, unknown>
}
