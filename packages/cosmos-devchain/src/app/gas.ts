import { sdkError } from './errors'
import { type Store } from './store'

export type GasMeter = ReturnType<typeof createGasMeter>

/** The limit of a meter that has none. */
export const NO_LIMIT = 2n ** 64n - 1n

export function createGasMeter(limit: bigint = NO_LIMIT) {
  let consumed = 0n
  return {
    limit,
    consumed: () => consumed,
    /** Throws where the limit is passed; what passed it counts as consumed. */
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
/** What the parameters of a module, and all that a real one looks up besides, cost to read. */
const PARAMETERS = 3500
/** The same of a message. */
const MESSAGE = 12_000

/** The store at the SDK's prices for what is read and written (`KVGasConfig`). Its own bytes are counted, so a transfer costs near what it does on a real chain, and not the same. */
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
