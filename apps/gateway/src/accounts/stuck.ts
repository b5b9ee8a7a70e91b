import { type Charge } from './ledger'

type Holder = Pick<Charge, 'wallet' | 'planId'>

/** An account is not believed to be held for longer than this after it was found so. */
const BELIEVED_FOR_MS = 30_000

/** The accounts that somebody was found to hold, while that is believed. */
export function createStuck() {
  const until = new Map<string, number>()
  const keyOf = ({ wallet, planId }: Holder) => `${planId} ${wallet}`

  return {
    has(account: Holder): boolean {
      if (until.size === 0) return false
      return (until.get(keyOf(account)) ?? 0) > performance.now()
    },
    add(account: Holder) {
      const now = performance.now()
      for (const [key, end] of until) if (end <= now) until.delete(key)
      until.set(keyOf(account), now + BELIEVED_FOR_MS)
    },
    free: (account: Holder) => void until.delete(keyOf(account)),
  }
}
