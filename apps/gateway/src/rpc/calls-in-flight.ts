import { ApiError } from '@tollgate/service'

/** Bounds the memory of calls and purchases that wait for a payment, a charge or an upstream. */
export const MAX_IN_FLIGHT = 4_096
/** A wallet that is alone gets as many. */
export const MAX_IN_FLIGHT_PER_WALLET = MAX_IN_FLIGHT / 4
/** A wallet with fewer is not one of those that fill the room. */
const FEW = 16

type Usage = { all: number; ofWallet: number; ofChain: number }

/**
 * The shares shrink as the room fills, so that it never fills up with calls of a few wallets, or of one chain whose upstreams are
 * slow. A wallet may have a third of the free places, and a chain as many as are free: alone, a quarter and a half of all. A
 * wallet with few calls has them on a chain that has up to three quarters.
 */
export function hasRoom({ all, ofWallet, ofChain }: Usage): boolean {
  const free = MAX_IN_FLIGHT - all
  const isSmall = ofWallet < FEW
  return free > 0 && (isSmall || ofWallet < free / 3) && ofChain < (isSmall ? 3 * free : free)
}

export type CallsInFlight = ReturnType<typeof createCallsInFlight>

export function createCallsInFlight() {
  const wallets = createCounts()
  const chains = createCounts()
  let all = 0

  return {
    /** `chain`: what the call waits for. @throws ApiError OVERLOADED without room; otherwise `leave` must follow */
    enter(wallet: string, chain: string): void {
      if (!hasRoom({ all, ofWallet: wallets.of(wallet), ofChain: chains.of(chain) })) throw overloaded()
      all++
      wallets.add(wallet)
      chains.add(chain)
    },

    leave(wallet: string, chain: string): void {
      all--
      wallets.remove(wallet)
      chains.remove(chain)
    },
  }
}

function createCounts() {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  return {
    of,
    add: (key: string) => void counts.set(key, of(key) + 1),
    remove(key: string) {
      if (of(key) > 1) counts.set(key, of(key) - 1)
      else counts.delete(key)
    },
  }
}

const overloaded = () =>
  new ApiError('OVERLOADED', 'Too many calls are being served; nothing was charged, so try again', {
    retryAfterSeconds: 1,
  })
