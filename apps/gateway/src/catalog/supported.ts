import { type Facilitator } from '@tollgate/facilitator-client'
import { type SupportedPaymentKind } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'

const MAX_AGE_MS = 5_000

export type Supported = ReturnType<typeof createSupported>

/**
 * What the facilitator supports: its kinds joined with its assets, a few seconds old at most; while it is away, what it
 * said last.
 */
export function createSupported(facilitator: Facilitator, logger: Logger, now: () => Date) {
  let known: { at: number; kinds: SupportedPaymentKind[] } | undefined
  let asking: Promise<SupportedPaymentKind[]> | undefined

  const ask = async (): Promise<SupportedPaymentKind[]> => {
    const questions = [facilitator.supported(), facilitator.assets()] as const
    // Both to their end: an attempt that is left of a failed question would come beside the next one.
    await Promise.allSettled(questions)
    const [kinds, assets] = await Promise.all(questions)
    return kinds.flatMap(({ scheme, network }) =>
      assets.filter((asset) => asset.network === network).map(({ asset }) => ({ scheme, network, asset })),
    )
  }

  return async (): Promise<SupportedPaymentKind[]> => {
    const at = now().getTime()
    if (known && at >= known.at && at - known.at < MAX_AGE_MS) return known.kinds
    try {
      asking ??= ask().finally(() => (asking = undefined))
      known = { at, kinds: await asking }
    } catch (cause) {
      logger.warn('facilitator did not say what it supports', { cause })
      const message = 'The payment facilitator cannot be asked just now; try again'
      if (!known) throw new ApiError('UNAVAILABLE', message, { retryAfterSeconds: 2, cause })
      known = { ...known, at }
    }
    return known.kinds
  }
}
