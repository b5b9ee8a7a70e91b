/** The gas limit cap of a transaction (EIP-7825). */
export const MOST_GAS = 16_777_216n

/** Shared by the payments of a transaction. */
const BASE_GAS = 21_000n
/** Writing one storage slot that already has a value (EIP-2929). */
const LEAST_GAS = 5_000n
const TTL_MS = 600_000
/** The payments of an asset differ a little: by the zero bytes of their nonces. */
const withTolerance = (gas: bigint): bigint => gas + gas / 50n
/** A quarter more: storage may have changed when the transaction is mined. */
export const withMargin = (gas: bigint, most: bigint): bigint =>
  gas + gas / 4n < most ? gas + gas / 4n : most

/** Larger batches save no more than 1 % of the gas per payment, and fit less well into the rest of a block. */
const MAX_BATCH = 150
/** While the gas of an asset's payments is unknown. */
const FIRST_BATCH = 50

export type GasModel = ReturnType<typeof createGasModel>

/** What payments of an asset lately needed in a batch. A guess: a simulation with this gas has to succeed. */
export function createGasModel(now: () => number = () => performance.now()) {
  const learned = new Map<string, { each: bigint; at: number }>()

  function each(asset: string): bigint | undefined {
    const known = learned.get(asset.toLowerCase())
    return known && now() - known.at < TTL_MS ? known.each : undefined
  }

  return {
    /** Ignores what no payment can need, as a faulty node may estimate. */
    learn(asset: string, payments: number, gas: bigint): void {
      const one = (gas - BASE_GAS) / BigInt(payments)
      if (one >= LEAST_GAS) learned.set(asset.toLowerCase(), { each: one, at: now() })
    },

    /** Undefined if nothing is known lately, or if the gas would not fit into a transaction with its margin. */
    expected(asset: string, payments: number): bigint | undefined {
      const one = each(asset)
      if (one === undefined) return undefined
      const gas = withTolerance(BASE_GAS + one * BigInt(payments))
      return withMargin(gas, MOST_GAS) < MOST_GAS ? gas : undefined
    },

    maxBatch(asset: string): number {
      const one = each(asset)
      if (one === undefined) return FIRST_BATCH
      const fitting = ((MOST_GAS - BASE_GAS) * 3n) / 4n / withTolerance(one)
      return Math.max(FIRST_BATCH, Math.min(MAX_BATCH, Number(fitting)))
    },
  }
}
