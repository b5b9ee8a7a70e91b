import { type Facilitator } from '@tollgate/facilitator-client'
import { type Settlement } from '@tollgate/protocol'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { type PaymentNetwork, type PaymentReference, type ReversalStore } from './reversal-store'

const INTERVAL_MS = 30_000
/**
 * Settlements that were claimed longer ago are not looked at. A reorg drops blocks of the last minutes; the rest is for payments that
 * stay open afterwards, and for a gateway that was away.
 */
const WINDOW_DAYS = 30
const DAY_MS = 86_400_000
/** With the longest names a page is below the size that the client accepts. */
const PAGE = 100
const MAX_PAGES = 20
/** Recorded reversals of a network that are asked about one by one. */
const MAX_QUESTIONS = 10

type Settlements = Pick<Facilitator['settlements'], 'list'>

/**
 * The payments of settlements that a reorg reversed for good: without a reason, the facilitator still settles them. An older
 * facilitator leaves out the nonce; those are only counted.
 */
export function finalReversalsIn(settlements: readonly Settlement[]) {
  const final = settlements.filter(({ state, reason }) => state === 'reversed' && reason !== null)
  const payments = final.flatMap(({ asset, payer, nonce }): PaymentReference[] =>
    nonce === undefined ? [] : [{ asset, payer, nonce }],
  )
  return { payments, unknown: final.length - payments.length }
}

/**
 * Asks the facilitator which settlements were reversed for good, and records it on their payments; also if one was settled after all.
 * Any number of replicas can do so at once.
 */
export function createReversalCheck(parts: {
  settlements: Settlements
  store: Omit<ReversalStore, 'countOfLastDay'>
  logger: Logger
  now: () => Date
}) {
  const { settlements, store, logger, now } = parts

  async function recordReversals(at: PaymentNetwork, signal: AbortSignal): Promise<PaymentReference[]> {
    const { network } = at
    const from = new Date(now().getTime() - WINDOW_DAYS * DAY_MS).toISOString()
    const all: PaymentReference[] = []
    let unknown = 0
    let cursor: string | null | undefined
    for (let pages = 0; pages < MAX_PAGES && cursor !== null && !signal.aborted; pages++) {
      const query = { state: 'reversed', network, from, limit: PAGE } as const
      const page = await settlements.list(cursor === undefined ? query : { ...query, cursor })
      const found = finalReversalsIn(page.settlements)
      for (const payment of await store.record(at, found.payments))
        logger.error('payment reversed, final', fieldsOf(payment))
      all.push(...found.payments)
      unknown += found.unknown
      cursor = page.next
    }
    if (!signal.aborted && (unknown > 0 || cursor !== null))
      logger.warn('reversal check incomplete', { network, known: all.length, unknown })
    return all
  }

  async function clearSettled(at: PaymentNetwork, told: readonly PaymentReference[], signal: AbortSignal) {
    const others = await store.findOthers(at, { told, days: WINDOW_DAYS, limit: MAX_QUESTIONS })
    for (const payment of others) {
      if (signal.aborted) return
      const { asset, payer, nonce } = payment
      const query = { network: at.network, asset, payer, nonce, limit: 1 }
      const [found] = (await settlements.list(query)).settlements
      if (found?.state !== 'settled') continue
      const cleared = await store.clear(payment, found)
      if (cleared) logger.warn('reversed payment settled again', fieldsOf(cleared))
    }
  }

  /** @throws FacilitatorError */
  return async (signal: AbortSignal): Promise<void> => {
    for (const at of await store.findNetworks()) {
      if (signal.aborted) return
      const told = await recordReversals(at, signal)
      await clearSettled(at, told, signal)
    }
  }
}

const fieldsOf = ({ id, ...payment }: Awaited<ReturnType<ReversalStore['record']>>[number]) => ({
  paymentId: id,
  ...payment,
})

export function startReversals(parts: {
  settlements: Settlements
  store: ReversalStore
  metrics: Metrics
  logger: Logger
  now: () => Date
}) {
  const { store, metrics, logger, now } = parts
  const check = createReversalCheck(parts)
  const reversed = metrics.gauge({
    name: 'tollgate_payments_reversed',
    help: 'Payments that a reorg reversed for good, as learned in the last 24 hours; of all replicas',
  })
  const lastCheck = metrics.gauge({
    name: 'tollgate_reversal_check_timestamp_seconds',
    help: 'When this process last asked the facilitator for reversed settlements and got every answer',
  })
  const stopping = new AbortController()
  const checks = startInterval({
    everyMs: INTERVAL_MS,
    async work() {
      try {
        await check(stopping.signal)
        if (!stopping.signal.aborted) lastCheck.set(now().getTime() / 1000)
      } finally {
        reversed.set(await store.countOfLastDay())
      }
    },
    onError: (error) => logger.warn('reversal check failed', { error }),
  })
  return {
    async stop() {
      stopping.abort()
      await checks.stop()
    },
  }
}
