/** In the asset's smallest unit: `10000n` or `'10000'` is 0.01 USDC. */
export type Units = bigint | string

export type AssetLimit = {
  /** As CAIP-2: `eip155:84532`, `cosmos:cosmoshub-4`. */
  network: string
  /** The token's address, or the denomination. */
  asset: string
  perPayment: Units
  /** Of all tabs and processes that share the storage, from midnight to midnight, UTC. */
  perDay?: Units
  /** From `createTollgate` to `close`. */
  perSession?: Units
}

/** A payment before it is signed. */
export type ProposedPayment = {
  url: string
  network: string
  asset: string
  payTo: string
  /** In the asset's smallest unit. */
  amount: bigint
  description: string
}

/** What may be paid without asking. Whatever is not listed is refused. */
export type Limits = {
  assets: readonly AssetLimit[]
  /** Whom to pay; absent: everyone. */
  recipients?: readonly string[]
  /** Asked last, before each signature; false refuses the payment. */
  approve?(payment: ProposedPayment): boolean | Promise<boolean>
}
