import { type Refusal } from '@tollgate/chains'
import { ApiError, type EphemeralStore, type Logger } from '@tollgate/service'
import { type Order } from './order'

const CLAIMED = 'claimed'
/** No authorization that is settled ends later, and no settlement takes as long. */
const MAX_MARK_SECONDS = 2 * 86_400
/** Of a nonce that a reorg may give back. */
const SPENT_LATELY_SECONDS = 30

export type Verdicts = ReturnType<typeof createVerdicts>

/**
 * Remembers for seconds which requests were found valid. An invalid payment may be cured at any moment, but for one whose nonce is
 * spent: that is remembered for as long as the payment could be settled, or for seconds while a reorg may give the nonce back. A
 * payment that is claimed is forgotten at once, and not remembered again. Without its store everything is verified afresh.
 */
export function createVerdicts(parts: {
  store: EphemeralStore
  ttlSeconds: number
  logger: Logger
  now: () => Date
}) {
  const { store, ttlSeconds, logger, now } = parts

  const orNothing = (error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    logger.debug('verdicts are not remembered while the store is away')
    return undefined
  }

  const secondsUntil = (end: number) => Math.floor(end - now().getTime() / 1000)

  /** Never for longer than the payment could still be settled. */
  function lifeOf({ network, payment }: Order): number {
    if (payment.validUntil === undefined) return ttlSeconds
    return Math.min(ttlSeconds, secondsUntil(Number(payment.validUntil) - network.confirmationBudgetSeconds))
  }

  /** Until nothing of the payment would be remembered anyway. */
  function lifeOfMark({ payment }: Order): number {
    if (payment.validUntil === undefined) return MAX_MARK_SECONDS
    return Math.min(MAX_MARK_SECONDS, Math.max(ttlSeconds, secondsUntil(Number(payment.validUntil))))
  }

  return {
    /** Whether this very request was found valid a moment ago. */
    async isKnown(order: Order, requestHash: Buffer): Promise<boolean> {
      return (await store.get(keyOf(order)).catch(orNothing)) === requestHash.toString('base64')
    },
    async remember(order: Order, requestHash: Buffer): Promise<void> {
      const life = lifeOf(order)
      if (life >= 1) await store.setOnce(keyOf(order), requestHash.toString('base64'), life).catch(orNothing)
    },
    /**
     * Why the payment is refused, where its nonce was found spent before. Where it `isSent`, for an earlier claim that failed: only
     * where `/settle` found that this does not pay for that claim either.
     */
    async spent(order: Order, { isSent }: { isSent: boolean }): Promise<Refusal | undefined> {
      const detail = await store.get(spentKeyOf(order, isSent)).catch(orNothing)
      return detail === undefined ? undefined : { reason: 'invalid_transaction_state', detail, isSpent: true }
    },
    async rememberSpent(
      order: Order,
      { detail }: Refusal,
      { isForGood, isSent }: { isForGood: boolean; isSent: boolean },
    ): Promise<void> {
      const life = isForGood ? lifeOfMark(order) : SPENT_LATELY_SECONDS
      await store.set(spentKeyOf(order, isSent), detail, life).catch(orNothing)
    },
    /** For good: also what a verification finds that is under way, or comes later. */
    async forget(order: Order): Promise<void> {
      await store.set(keyOf(order), CLAIMED, lifeOfMark(order)).catch(orNothing)
    },
  }
}

const nameOf = ({ network, payment, terms }: Order) =>
  [network.name, terms.token.asset, payment.payer, payment.nonce].join(' ')
const keyOf = (order: Order) => `verdict ${nameOf(order)}`
/** Of a payment that was sent also what is signed, as another one under its nonce says nothing of it. */
const spentKeyOf = (order: Order, isSent: boolean) =>
  `spent ${nameOf(order)}${isSent ? ` ${order.requestHash.toString('base64')}` : ''}`
