import { ApiError } from '@tollgate/service'

/** Bounds the memory of calls and purchases that wait for a payment, a charge or an upstream. A wallet may use only a share of it. */
export const MAX_IN_FLIGHT = 4_096
export const MAX_IN_FLIGHT_PER_WALLET = 1_024

export type CallsInFlight = ReturnType<typeof createCallsInFlight>

export function createCallsInFlight() {
  const perWallet = new Map<string, number>()
  let all = 0

  return {
    /** @throws ApiError OVERLOADED if too many calls are in flight; otherwise `leave` must follow */
    enter(wallet: string): void {
      const own = perWallet.get(wallet) ?? 0
      if (all >= MAX_IN_FLIGHT || own >= MAX_IN_FLIGHT_PER_WALLET) throw overloaded()
      all++
      perWallet.set(wallet, own + 1)
    },

    leave(wallet: string): void {
      const own = perWallet.get(wallet) ?? 0
      all--
      if (own > 1) perWallet.set(wallet, own - 1)
      else perWallet.delete(wallet)
    },
  }
}

const overloaded = () =>
  new ApiError('OVERLOADED', 'Too many calls are being served; nothing was charged, so try again', {
    retryAfterSeconds: 1,
  })
