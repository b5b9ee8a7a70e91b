import { FacilitatorError, type Facilitator } from '@tollgate/facilitator-client'
import { withTimeout } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type FoundSettlement } from './payment-progress'

/** Identifies one payment. */
type PaymentReference = { network: string; asset: string; payer: string; nonce: string }

/** How long a page waits for the facilitator. */
const TIMEOUT_MS = 2_000
const MAX_AGE_MS = 1_000
const MAX_CACHED = 1_000
const MAX_CONCURRENT = 16
/** A facilitator that is away, or too busy, is not asked at every request. */
const PAUSE_MS = 5_000
/** The scope of the client key lacks `settlements`, or the facilitator is older. */
const REFUSED_PAUSE_MS = 60_000

export type SettlementLookup = ReturnType<typeof createSettlementLookup>

/** What the facilitator knows of a payment; undefined if it does not tell. Never rejects, and nothing depends on it. */
export function createSettlementLookup({
  settlements,
  logger,
}: {
  settlements: Facilitator['settlements']
  logger: Logger
}) {
  const cached = new Map<string, { at: number; settlement: Promise<FoundSettlement | undefined> }>()
  let concurrent = 0
  let pausedUntil = -Infinity

  const pause = (ms: number) => (pausedUntil = Math.max(pausedUntil, performance.now() + ms))

  async function ask(reference: PaymentReference): Promise<FoundSettlement | undefined> {
    concurrent++
    try {
      const [newest] = (await settlements.list({ ...reference, limit: 1 })).settlements
      return newest && (await settlements.get(newest.id))
    } catch (error) {
      pause(error instanceof FacilitatorError && isLasting(error) ? REFUSED_PAUSE_MS : PAUSE_MS)
      logger.warn('settlement lookup failed', { network: reference.network, error })
      return undefined
    } finally {
      concurrent--
    }
  }

  function askInTime(reference: PaymentReference): Promise<FoundSettlement | undefined> {
    return withTimeout(ask(reference), TIMEOUT_MS, () => {
      pause(PAUSE_MS)
      return undefined
    })
  }

  return (paymentId: string, reference: PaymentReference): Promise<FoundSettlement | undefined> => {
    const now = performance.now()
    const known = cached.get(paymentId)
    if (known && now - known.at < MAX_AGE_MS) return known.settlement
    if (now < pausedUntil || concurrent >= MAX_CONCURRENT) return NOTHING
    const settlement = askInTime(reference)
    cached.delete(paymentId)
    cached.set(paymentId, { at: now, settlement })
    const [oldest] = cached.keys()
    if (cached.size > MAX_CACHED && oldest !== undefined) cached.delete(oldest)
    return settlement
  }
}

const NOTHING = Promise.resolve(undefined)

const isLasting = ({ kind, status }: FacilitatorError) => kind === 'unauthorized' || status === 404
