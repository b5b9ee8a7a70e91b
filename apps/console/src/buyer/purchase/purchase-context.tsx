import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { usePlans } from '../data'
import { useWallet } from '../wallets/wallet-context'
import { isOf, isToContinue, keyOf, statusOf } from './purchase'
import { createPurchases, type Purchases } from './purchases'

const Context = createContext<Purchases | undefined>(undefined)

/** Above the pages: a purchase goes on, and is shown again, whichever page is left. */
export function PurchaseProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient()
  const purchases = useMemo(() => createPurchases(() => void queries.invalidateQueries()), [queries])
  useContinuedPurchases(purchases)
  return <Context value={purchases}>{children}</Context>
}

/** Sends again what an earlier page, or a call, has left without an outcome. */
function useContinuedPurchases(purchases: Purchases) {
  const { connected } = useWallet()
  const { data: plans } = usePlans({ isNeeded: connected !== undefined })
  const { data: open } = useQuery({
    queryKey: ['open-payments', connected?.address],
    queryFn: async () => (connected ? (await import('./run-purchase')).listOpenPayments(connected) : []),
    enabled: connected !== undefined,
    staleTime: 0,
    // Amounts are bigint, which JSON does not have.
    structuralSharing: false,
  })

  useEffect(() => {
    if (!connected) return
    for (const payment of open ?? []) {
      const { planId, nonce, validUntil } = payment
      const plan = plans?.find(({ id }) => id === planId)
      const shown = purchases.all().find(({ key }) => key === keyOf(connected.address, planId))
      if (plan && isToContinue(payment, shown))
        purchases.resume(connected, plan, { nonce, validUntil, isSilent: true })
    }
  }, [purchases, connected, open, plans])

  useEffect(() => {
    const goOn = () => {
      for (const purchase of purchases.all()) {
        const { plan, nonce, validUntil, run } = purchase
        const status = statusOf(purchase, { now: Date.now(), isOnline: true })
        if (connected && run.is !== 'under-way' && isOf(purchase, connected) && status === 'unknown')
          purchases.resume(connected, plan, { nonce, validUntil, isSilent: true })
      }
    }
    window.addEventListener('online', goOn)
    return () => window.removeEventListener('online', goOn)
  }, [purchases, connected])
}

export function usePurchases() {
  const purchases = useContext(Context)
  if (!purchases) throw new Error('usePurchases needs a PurchaseProvider')
  return { ...purchases, list: useSyncExternalStore(purchases.subscribe, purchases.all) }
}
