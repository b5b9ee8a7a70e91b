import { type OpenPayment, type Plan } from '@tollgate/wallet'
import { readCreditedIds, readPaymentProgress } from '../data'
import { createClient } from '../wallets/create-client'
import { type ConnectedWallet } from '../wallets/found-wallets'
import { type Purchase, type Run } from './purchase'

const LOOK_INTERVAL_MS = 300

/** Buys with the wallet package, and tells each step. `isEarlier`: only sends a payment again that was signed before. */
export async function runPurchase(parts: {
  wallet: ConnectedWallet
  plan: Plan
  isEarlier: boolean
  isSilent: boolean
  signal: AbortSignal
  change: (part: Partial<Purchase>) => void
}): Promise<Run> {
  const { wallet, plan, isEarlier, isSilent, signal, change } = parts
  const client = createClient(wallet, {
    plans: [plan],
    plan,
    // The reader has pressed the button with this price; the wallet asks again.
    approve: async () => !isEarlier && !(await isMadeMeanwhile()),
    isSilent,
    onSigned() {
      isSigned = true
      change({ stage: 'signed' })
      void noteStored()
    },
  })
  let isSigned = isEarlier
  let isLooking = false
  let isOver = false
  const isStopped = () => isOver

  const before = isEarlier ? undefined : readCreditedIds(wallet.address, plan.id).catch(() => undefined)

  /** By another client of the wallet, while this one waited for the price: that purchase is shown, and no other one is made. */
  async function isMadeMeanwhile(): Promise<boolean> {
    const known = await before
    const now = known && (await readCreditedIds(wallet.address, plan.id).catch(() => undefined))
    const made = now?.find((id) => known?.includes(id) === false)
    if (made === undefined) return false
    const record = await readPaymentProgress(wallet.address, made)
    change({ record, isEarlier: true })
    return true
  }

  const findStored = async (): Promise<OpenPayment | undefined> =>
    (await client.openPayments()).find(({ planId }) => planId === plan.id)

  async function noteStored(): Promise<void> {
    if (isLooking) return
    isLooking = true
    while (!isStopped()) {
      const stored = await findStored().catch(() => undefined)
      if (stored?.nonce !== undefined && !isStopped())
        change({ nonce: stored.nonce, validUntil: stored.validUntil })
      if (stored) break
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS))
    }
    isLooking = false
  }

  client.on('payment-required', () => {
    if (isEarlier) return
    // An earlier payment that was being sent has expired without being taken.
    isSigned = false
    change({
      stage: 'sign',
      isEarlier: false,
      nonce: undefined,
      validUntil: undefined,
      record: undefined,
      readAt: undefined,
    })
  })
  client.on('pending', () => {
    change({ stage: 'sent', ...(isSigned ? {} : { isEarlier: true }) })
    void noteStored()
  })

  try {
    // Sending a payment again waits for another tab that does: it asks the wallet for no other one.
    return { is: 'done', bought: await client.buy({ signal, wait: isEarlier }) }
  } catch (error) {
    // If the storage cannot be read, a payment that was signed may be in it.
    const stored = await findStored().catch(() => isSigned)
    const payment = typeof stored === 'object' ? stored : undefined
    if (payment?.nonce !== undefined) change({ nonce: payment.nonce, validUntil: payment.validUntil })
    const isStored = stored !== undefined && stored !== false
    return { is: 'stopped', error, isStored, isRefused: payment?.isRefused === true }
  } finally {
    isOver = true
    client.close()
  }
}

/** The payments of the wallet for credits whose outcome this browser does not know. */
export async function listOpenPayments(wallet: ConnectedWallet): Promise<OpenPayment[]> {
  const client = createClient(wallet, { plans: [], approve: () => false, isSilent: true })
  try {
    return await client.openPayments()
  } finally {
    client.close()
  }
}
