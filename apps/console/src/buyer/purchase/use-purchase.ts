import { useQueryClient } from '@tanstack/react-query'
import { isTollgateError, type Plan, type Purchase } from '@tollgate/wallet'
import { useCallback, useState } from 'react'
import { POLL_INTERVAL_MS, readNewestPayment, readPaymentProgress } from '../data'
import { createClient } from '../wallets/create-client'
import { useWallet } from '../wallets/wallet-context'
import { type PaymentProgress, type PurchaseView } from './purchase-steps'

type State = PurchaseView & {
  plan: Plan
  bought: Purchase | undefined
  error: unknown
  /** The money may be on its way: never sign again. */
  isPending: boolean
}

/** Buys the credits of a plan, and follows the payment while it is under way. */
export function usePurchase() {
  const { connected } = useWallet()
  const queries = useQueryClient()
  const [state, setState] = useState<State>()
  const change = useCallback(
    (part: Partial<State>) => setState((current) => current && { ...current, ...part }),
    [],
  )

  const buy = useCallback(
    async (plan: Plan) => {
      if (!connected) return
      const { address } = connected
      setState({
        plan,
        isPriced: false,
        isSigned: false,
        payment: undefined,
        outcome: 'open',
        bought: undefined,
        error: undefined,
        isPending: false,
      })
      const following = new AbortController()
      const client = createClient(connected, {
        plans: [plan],
        plan,
        // The reader has pressed the button with this price; the wallet asks again.
        approve: () => true,
        onSigned: () => change({ isSigned: true }),
      })
      client.on('payment-required', () => change({ isPriced: true }))
      client.on('pending', () => change({ isPriced: true, isSigned: true, isPending: true }))
      try {
        const before = (await readNewestPayment(address))?.id
        void followPayment({
          address,
          before,
          signal: following.signal,
          onProgress: (payment) => change({ payment }),
        })
        const bought = await client.buy()
        change({ bought, outcome: 'bought', isPending: false })
      } catch (error) {
        const isPending =
          isTollgateError(error) && ['PAYMENT_PENDING', 'PAYMENT_UNKNOWN'].includes(error.code)
        change({ error, isPending, outcome: isPending ? 'open' : 'failed' })
      } finally {
        following.abort()
        client.close()
        await queries.invalidateQueries()
      }
    },
    [connected, queries, change],
  )
  return { state, buy, dismiss: useCallback(() => setState(undefined), []) }
}

/** Reads the payment that comes after `before`, once a second, until `signal`. A failed read is repeated. */
async function followPayment(parts: {
  address: string
  before: string | undefined
  signal: AbortSignal
  onProgress: (payment: PaymentProgress) => void
}): Promise<void> {
  const { address, before, signal, onProgress } = parts
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS))
    const newest = await readNewestPayment(address, signal).catch(() => undefined)
    if (newest === undefined || newest.id === before) continue
    const payment = await readPaymentProgress(address, newest.id, signal).catch(() => undefined)
    if (payment) onProgress(payment)
  }
}
