import { sdkError } from './errors'
import { type Store } from './store'

export type GasMeter = ReturnType<typeof createGasMeter>

/** The limit of an infinite gas meter. */
export const NO_LIMIT = 2n ** 64n - 1n

export function createGasMeter(limit: bigint = NO_LIMIT) {
  let consumed = 0n
  return {
    limit,
    consumed: () => consumed,
    /** Throws if the limit is exceeded; the excess counts as consumed. */
    consume(amount: number, where: string) {
      consumed += BigInt(amount)
      if (consumed > limit)
        throw sdkError(
          'out of gas',
          `out of gas in location: ${where}; gasWanted: ${limit}, gasUsed: ${consumed}`,
        )
    },
  }
}

const READ = 1000
const READ_BYTE = 3
const WRITE = 2000
const WRITE_BYTE = 30
const DELETE = 1000
/** Gas for reading the parameters of a module and everything else that the SDK's module reads. */
const PARAMETERS = 3500
/** The same for a message. */
const MESSAGE = 12_000

/** Charges the SDK's gas for reads and writes (`KVGasConfig`). It counts the bytes of our own store, so gas is close to that of a real chain but not equal. */
export function metered(store: Store, gas: GasMeter): Store {
  return {
    get(key) {
      const value = store.get(key)
      gas.consume(READ + READ_BYTE * (key.length + (value?.length ?? 0)), 'ReadFlat')
      return value
    },
    set(key, value) {
      gas.consume(WRITE + WRITE_BYTE * (key.length + value.length), 'WriteFlat')
      store.set(key, value)
    },
    delete(key) {
      gas.consume(DELETE, 'Delete')
      store.delete(key)
    },
    keysOf: (prefix) => store.keysOf(prefix),
  }
}

export const chargeParameters = (gas: GasMeter) => gas.consume(PARAMETERS, 'ReadFlat')

export const chargeMessage = (gas: GasMeter) => gas.consume(MESSAGE, 'ReadFlat')
