import { type Facilitator } from '@tollgate/facilitator-client'
import { type SupportedPaymentKind, withTimeout } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'
import { type Plan } from './catalog'

const MAX_AGE_MS = 5_000
/** How long a response waits for optional data of the facilitator. */
const WAIT_TIMEOUT_MS = 500

export type Supported = ReturnType<typeof createSupported>

/** Whom a payment may name as `fee.granter`; if it `signs`, also as `fee.payer`. */
export type FeePayer = { address: string; signs: boolean }
type Support = { kinds: SupportedPaymentKind[]; feePayers: ReadonlyMap<string, FeePayer> }

/** Caches what the facilitator supports for MAX_AGE_MS; while it is unavailable, serves the last answer. */
export function createSupported(facilitator: Facilitator, logger: Logger, now: () => Date) {
  let cached: { at: number; support: Support } | undefined
  let pending: Promise<Support> | undefined

  const fetchSupport = async (): Promise<Support> => {
    const requests = [facilitator.supported(), facilitator.assets()] as const
    // Wait for both: a request that outlives a failed one would overlap with the next attempt.
    await Promise.allSettled(requests)
    const [kinds, assets] = await Promise.all(requests)
    return {
      kinds: kinds.flatMap(({ scheme, network }) =>
        assets
          .filter((asset) => asset.network === network)
          .map(({ asset, assetTransferMethod }) => ({
            scheme,
            network,
            asset,
            ...(assetTransferMethod && { assetTransferMethod }),
          })),
      ),
      feePayers: new Map(
        kinds.map(({ network, feePayer: address, feePayerSigns: signs = false }) => [
          network,
          { address, signs },
        ]),
      ),
    }
  }

  async function getSupport(): Promise<Support> {
    const at = now().getTime()
    if (cached && at >= cached.at && at - cached.at < MAX_AGE_MS) return cached.support
    try {
      pending ??= fetchSupport().finally(() => (pending = undefined))
      cached = { at, support: await pending }
    } catch (cause) {
      logger.warn('facilitator support query failed', { cause })
      const message = 'The payment facilitator is unavailable; try again'
      if (!cached) throw new ApiError('UNAVAILABLE', message, { retryAfterSeconds: 2, cause })
      cached = { ...cached, at }
    }
    return cached.support
  }

  return {
    getKinds: async (): Promise<SupportedPaymentKind[]> => {
      const asked = getSupport()
      if (!cached) return (await asked).kinds
      const { support } = cached
      // With a cached answer, a hanging facilitator delays callers by WAIT_TIMEOUT_MS at most.
      return (await withTimeout(asked, WAIT_TIMEOUT_MS, () => support)).kinds
    },

    async findFeePayer({
      ecosystem,
      network,
    }: Pick<Plan, 'ecosystem' | 'network'>): Promise<FeePayer | undefined> {
      if (ecosystem !== 'cosmos') return undefined
      const asked = getSupport().catch(() => undefined)
      const said = cached?.support ?? (await withTimeout(asked, WAIT_TIMEOUT_MS, () => undefined))
      const feePayer = said?.feePayers.get(network)
      return feePayer?.address ? feePayer : undefined
    },
  }
}
