import { type GasMeter } from './gas'
import { type Store } from './store'

export type Event = {
  type: string
  attributes: { key: string; value: string }[]
}

export type Block = {
  height: number
  /** Milliseconds since 1970. */
  time: number
}

/** CometBFT checks a transaction when it arrives (`check`) and again after each block (`recheck`). */
export type Mode = 'check' | 'recheck' | 'deliver' | 'simulate'

export type Context = {
  store: Store
  gas: GasMeter
  events: Event[]
  block: Block
  chainId: string
  minimumGasPrice: { denom: string; /** In units of 10^-18. */ price: bigint }
  mode: Mode
}

export function event(type: string, attributes: Record<string, string>): Event {
  return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })) }
}
