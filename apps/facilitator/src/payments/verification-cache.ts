import { type Refusal } from '@tollgate/chains'
import { type ReasonCode } from '@tollgate/protocol'
import { ApiError, type EphemeralStore, type Logger } from '@tollgate/service'
import { type PaymentRequest } from './payment-request'

const CLAIMED = 'claimed'
/** Longer than any authorization that we accept, and than any settlement. */
const MAX_TTL_SECONDS = 2 * 86_400
/** For a nonce that a reorg may free. */
const REVERSIBLE_TTL_SECONDS = 30
/** A payment that was not made, to a recipient where it would count, is kept so long: it bounds the requests to nodes, and what is stored. */
const UNMADE_TTL_SECONDS = 60

export type VerificationCache = ReturnType<typeof createVerificationCache>

/**
 * Caches requests that were found valid, spent nonces, and payments whose nonce was spent otherwise. Other refusals may cease at any
 * moment and are not cached. A claimed payment is evicted and not cached again. If the store is unavailable, or `ttlSeconds` is 0, every payment is verified.
 */
export function createVerificationCache({
  store,
  ttlSeconds,
  logger,
  now,
}: {
  store: EphemeralStore
  ttlSeconds: number
  logger: Logger
  now: () => Date
}) {
  const ignoreOutage = (error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    logger.debug('verification cache unavailable')
    return undefined
  }

  const isOff = ttlSeconds === 0
  const secondsUntil = (unixSeconds: number) => Math.floor(unixSeconds - now().getTime() / 1000)

  /** At most as long as the payment can be settled. */
  function validTtl({ network, payment }: PaymentRequest): number {
    if (payment.validUntil === undefined) return ttlSeconds
    return Math.min(
      ttlSeconds,
      secondsUntil(Number(payment.validUntil) - network.minRemainingValiditySeconds),
    )
  }

  /** At least as long as the payment can be cached as valid. */
  function finalTtl({ payment }: PaymentRequest): number {
    if (payment.validUntil === undefined) return MAX_TTL_SECONDS
    return Math.min(MAX_TTL_SECONDS, Math.max(ttlSeconds, 1, secondsUntil(Number(payment.validUntil))))
  }

  return {
    async isVerified(request: PaymentRequest): Promise<boolean> {
      if (isOff) return false
      return (await store.get(keyOf(request)).catch(ignoreOutage)) === hashOf(request)
    },

    async remember(request: PaymentRequest): Promise<void> {
      const ttl = validTtl(request)
      if (ttl >= 1) await store.setOnce(keyOf(request), hashOf(request), ttl).catch(ignoreOutage)
    },

    /**
     * `wasSent`: an earlier failed claim broadcast a transaction. Only a refusal that `/settle` found after checking that
     * transaction counts then.
     */
    async findSpent(
      request: PaymentRequest,
      { wasSent }: { wasSent: boolean },
    ): Promise<Refusal | undefined> {
      if (isOff) return undefined
      const detail = await store.get(spentKeyOf(request, wasSent)).catch(ignoreOutage)
      return detail === undefined ? undefined : { reason: 'invalid_transaction_state', detail, isSpent: true }
    },

    async rememberSpent(
      request: PaymentRequest,
      { detail }: Refusal,
      { isFinal, wasSent }: { isFinal: boolean; wasSent: boolean },
    ): Promise<void> {
      if (isOff) return
      const ttl = isFinal ? finalTtl(request) : REVERSIBLE_TTL_SECONDS
      await store.set(spentKeyOf(request, wasSent), detail, ttl).catch(ignoreOutage)
    },

    /** Why the payment cannot have arrived any more, if that was found lately. */
    async findUnmade(request: PaymentRequest): Promise<Refusal | undefined> {
      if (isOff) return undefined
      const found = await store.get(unmadeKeyOf(request)).catch(ignoreOutage)
      if (found === undefined) return undefined
      const [reason, ...detail] = found.split(' ')
      return { reason: reason as ReasonCode, detail: detail.join(' ') }
    },

    /** Only if no reorg can free the nonce, and no newer state of a node can show the payment. */
    async rememberUnmade(request: PaymentRequest, { reason, detail }: Refusal): Promise<void> {
      if (isOff) return
      await store.set(unmadeKeyOf(request), `${reason} ${detail}`, UNMADE_TTL_SECONDS).catch(ignoreOutage)
    },

    /** Also keeps a verification in progress from caching the payment again. */
    async forget(request: PaymentRequest): Promise<void> {
      await store.set(keyOf(request), CLAIMED, finalTtl(request)).catch(ignoreOutage)
    },
  }
}

const hashOf = ({ requestHash }: PaymentRequest) => requestHash.toString('base64')
const paymentKeyOf = ({ network, payment, terms }: PaymentRequest) =>
  [network.name, terms.token.asset, payment.payer, payment.nonce].join(' ')
/** The key of earlier releases too: a new release finds what they stored. */
const keyOf = (request: PaymentRequest) => `verdict ${paymentKeyOf(request)}`
/** Includes the request: another payment may have used the nonce, and may count. */
const unmadeKeyOf = (request: PaymentRequest) => `unmade ${paymentKeyOf(request)} ${hashOf(request)}`
/** `wasSent` includes the request: a refusal of it does not apply to another payment under the same nonce. */
const spentKeyOf = (request: PaymentRequest, wasSent: boolean) =>
  `spent ${paymentKeyOf(request)}${wasSent ? ` ${hashOf(request)}` : ''}`
