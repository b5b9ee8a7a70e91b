import { type Plan } from '@tollgate/wallet'
import { ApiError } from '../../api/api-error'
import { shared } from '../../texts'
import { POLL_INTERVAL_MS, readOwnPayment } from '../data'
import { type ConnectedWallet } from '../wallets/found-wallets'
import {
  begun,
  continued,
  isAsking,
  isFollowed,
  isOf,
  isUndecided,
  keyOf,
  type Purchase,
  type Run,
} from './purchase'

const SLOW_POLL_INTERVAL_MS = 3_000

export type Purchases = ReturnType<typeof createPurchases>

/** The purchases of this document, one for each wallet and plan. They go on whichever page is shown. */
export function createPurchases(onEnd: () => void) {
  let all: readonly Purchase[] = []
  const listeners = new Set<() => void>()
  const runs = new Map<string, AbortController>()
  const following = new Set<string>()

  const find = (key: string) => all.find((one) => one.key === key)

  function publish(next: readonly Purchase[]) {
    all = next
    for (const listener of listeners) listener()
  }

  function put(purchase: Purchase) {
    const others = all.filter(({ key }) => key !== purchase.key)
    publish([...others, purchase])
  }

  function change(key: string, part: Partial<Purchase>) {
    publish(all.map((one) => (one.key === key ? { ...one, ...part } : one)))
  }

  async function run(wallet: ConnectedWallet, first: Purchase, isSilent: boolean): Promise<void> {
    const { key } = first
    const cancel = new AbortController()
    runs.set(key, cancel)
    put(first)
    void follow(key)
    // A wallet may sign what it was asked in a run that was cancelled.
    const changeOwn = (part: Partial<Purchase>) => runs.get(key) === cancel && change(key, part)
    const ended = await work(wallet, first, { isSilent, signal: cancel.signal, change: changeOwn })
    runs.delete(key)
    // A record that was not found before may be there now.
    change(key, { run: ended, ...(find(key)?.record === null ? { record: undefined } : {}) })
    void follow(key)
    onEnd()
  }

  /** Asks the gateway for the purchase's own payment until it has ended. A failed read is repeated. */
  async function follow(key: string): Promise<void> {
    if (following.has(key)) return
    following.add(key)
    for (let purchase = find(key); purchase && isFollowed(purchase, Date.now()); purchase = find(key)) {
      await new Promise((resolve) =>
        setTimeout(resolve, purchase.run.is === 'under-way' ? POLL_INTERVAL_MS : SLOW_POLL_INTERVAL_MS),
      )
      const { nonce, record: known } = find(key) ?? {}
      if (nonce === undefined) continue
      const record = await readOwnPayment(
        { address: purchase.address, planId: purchase.plan.id, nonce },
        known?.step === 'failed' ? undefined : known?.id,
      ).catch(() => undefined)
      if (record === undefined || find(key)?.nonce !== nonce) continue
      change(key, { record, readAt: Date.now() })
      const now = find(key)
      // The outcome is known: nothing is sent again.
      if (!now || isFollowed(now, Date.now()) || !runs.has(key)) continue
      runs.get(key)?.abort()
      onEnd()
    }
    following.delete(key)
  }

  return {
    all: () => all,
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    /** At the press of a button: the wallet may be asked to pay. */
    buy(wallet: ConnectedWallet, plan: Plan) {
      const shown = find(keyOf(wallet.address, plan.id))
      if (shown && isUndecided(shown, Date.now())) return
      void run(wallet, begun(wallet.address, plan), false)
    },

    /** Sends a payment again that was signed before; the wallet is asked for no other one. `isSilent`: it is asked for nothing. */
    resume(
      wallet: ConnectedWallet,
      plan: Plan,
      { isSilent, ...payment }: Partial<Pick<Purchase, 'nonce' | 'validUntil'>> & { isSilent: boolean },
    ) {
      const key = keyOf(wallet.address, plan.id)
      if (runs.has(key)) return
      const shown = find(key)
      const { record, readAt } = shown?.nonce === payment.nonce ? (shown ?? {}) : {}
      void run(wallet, { ...continued(wallet.address, plan, payment), record, readAt }, isSilent)
    },

    /** Nothing that was not signed by now is paid. */
    cancel: (key: string) => runs.get(key)?.abort(),

    cancelUnsigned(address: string) {
      for (const purchase of all)
        if (isOf(purchase, { address }) && isAsking(purchase)) runs.get(purchase.key)?.abort()
    },

    dismiss: (key: string) => publish(all.filter((one) => one.key !== key)),
  }
}

type WorkOptions = { isSilent: boolean; signal: AbortSignal; change: (part: Partial<Purchase>) => void }

async function work(wallet: ConnectedWallet, first: Purchase, options: WorkOptions): Promise<Run> {
  try {
    const { runPurchase } = await loadWork()
    return await runPurchase({ wallet, plan: first.plan, isEarlier: first.isEarlier, ...options })
  } catch (error) {
    return { is: 'stopped', error, isStored: false, isRefused: false }
  }
}

async function loadWork() {
  try {
    return await import('./run-purchase')
  } catch (cause) {
    throw new ApiError(0, 'UNREACHABLE', shared.failed.unreachable, undefined, { cause })
  }
}
