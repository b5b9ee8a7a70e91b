import { setTimeout as passed } from 'node:timers/promises'
import { type Facilitator } from '@tollgate/facilitator-client'
import { type SupportedPaymentKind } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'
import { type Plan } from './catalog'

const MAX_AGE_MS = 5_000
/** How long a 402 may wait for an answer that it can do without. */
const PATIENCE_MS = 500

export type Supported = ReturnType<typeof createSupported>

/** What the facilitator said: the kinds of payment that it settles, and by network who bears the fees. */
type Said = { kinds: SupportedPaymentKind[]; feePayers: ReadonlyMap<string, string> }

/** What the facilitator supports, a few seconds old at most; while it is away, what it said last. */
export function createSupported(facilitator: Facilitator, logger: Logger, now: () => Date) {
  let known: { at: number; said: Said } | undefined
  let asking: Promise<Said> | undefined

  const ask = async (): Promise<Said> => {
    const questions = [facilitator.supported(), facilitator.assets()] as const
    // Both to their end: an attempt that is left of a failed question would come beside the next one.
    await Promise.allSettled(questions)
    const [kinds, assets] = await Promise.all(questions)
    return {
      kinds: kinds.flatMap(({ scheme, network }) =>
        assets.filter((asset) => asset.network === network).map(({ asset }) => ({ scheme, network, asset })),
      ),
      feePayers: new Map(kinds.map(({ network, feePayer }) => [network, feePayer])),
    }
  }

  async function latest(): Promise<Said> {
    const at = now().getTime()
    if (known && at >= known.at && at - known.at < MAX_AGE_MS) return known.said
    try {
      asking ??= ask().finally(() => (asking = undefined))
      known = { at, said: await asking }
    } catch (cause) {
      logger.warn('facilitator did not say what it supports', { cause })
      const message = 'The payment facilitator cannot be asked just now; try again'
      if (!known) throw new ApiError('UNAVAILABLE', message, { retryAfterSeconds: 2, cause })
      known = { ...known, at }
    }
    return known.said
  }

  return {
    /** Its kinds joined with its assets. */
    kinds: async (): Promise<SupportedPaymentKind[]> => {
      const asked = latest()
      if (!known) return (await asked).kinds
      // Once it is known nobody waits long for the next answer: an address may hang.
      return (await Promise.race([asked, passed(PATIENCE_MS, known.said, { ref: false })])).kinds
    },

    /**
     * Whom a payment on the plan's network may name to bear its fee; undefined where nobody does, or nobody knows. Asked
     * only where payers choose who bears it; waited for only while it was never answered, and then for a moment.
     */
    async feePayerOf({
      ecosystem,
      network,
    }: Pick<Plan, 'ecosystem' | 'network'>): Promise<string | undefined> {
      if (ecosystem !== 'cosmos') return undefined
      const asked = latest().catch(() => undefined)
      const said =
        known?.said ?? (await Promise.race([asked, passed(PATIENCE_MS, undefined, { ref: false })]))
      return said?.feePayers.get(network) || undefined
    },
  }
}
