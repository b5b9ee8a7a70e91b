type Account = { wallet: string; planId: number }

const CONTENDED_FOR_MS = 30_000

export function createContendedAccounts() {
  const contendedUntil = new Map<string, number>()
  const keyOf = ({ wallet, planId }: Account) => `${planId} ${wallet}`

  return {
    has(account: Account): boolean {
      if (contendedUntil.size === 0) return false
      return (contendedUntil.get(keyOf(account)) ?? 0) > performance.now()
    },
    add(account: Account) {
      const now = performance.now()
      for (const [key, end] of contendedUntil) if (end <= now) contendedUntil.delete(key)
      contendedUntil.set(keyOf(account), now + CONTENDED_FOR_MS)
    },
    remove: (account: Account) => void contendedUntil.delete(keyOf(account)),
  }
}
