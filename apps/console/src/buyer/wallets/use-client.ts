import { type Plan, type ProposedPayment, type Tollgate } from '@tollgate/wallet'
import { useEffect, useMemo } from 'react'
import { usePlans } from '../data'
import { createClient } from './create-client'
import { useWallet } from './wallet-context'

/** A client for as long as the component is shown; undefined until there are plans. `plan`: its credits are spent, else any. */
export function useClient(
  approve: (payment: ProposedPayment) => boolean | Promise<boolean>,
  plan?: Plan,
): Tollgate | undefined {
  const { connected } = useWallet()
  const { data: plans } = usePlans()
  const client = useMemo(
    () =>
      connected && plans && plans.length > 0
        ? createClient(connected, { plans, approve, ...(plan ? { plan } : {}) })
        : undefined,
    [connected, plans, approve, plan],
  )
  useEffect(() => () => client?.close(), [client])
  return client
}
