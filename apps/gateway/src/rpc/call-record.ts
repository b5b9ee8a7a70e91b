import { type UsageOutcome } from '@tollgate/protocol'
import { ApiError, type Logger } from '@tollgate/service'
import { type Ending } from '../accounts/call-endings'
import { type Ledger } from '../accounts/ledger'
import { type CountCall } from './call-metrics'
import { type Answer } from './upstream/upstream-exchange'

type StoredOutcome = Extract<
  UsageOutcome,
  | 'answered'
  | 'method_not_found'
  | 'upstream_failed'
  | 'upstream_refused'
  | 'upstream_timeout'
  | 'caller_left'
  | 'defect'
>

type Dependencies = { ledger: Ledger; logger: Logger }

export function createCallRecord({ ledger, logger }: Dependencies, usageId: bigint, count: CountCall) {
  const startedAt = performance.now()
  const usage = usageId.toString()
  const latencyMs = () => Math.round(performance.now() - startedAt)

  return {
    /** Never rejects: the ledger retries a failed write. */
    async end(state: Ending['state'], statusCode: number | null, outcome: StoredOutcome): Promise<void> {
      count(outcome)
      try {
        if (!(await ledger.finish({ usageId, state, statusCode, outcome, latencyMs: latencyMs() })))
          logger.error('call already refunded: another replica considered this one dead', {
            usage,
            state,
            outcome,
          })
      } catch (cause) {
        logger.error('call end write failed, will retry', { usage, state, outcome, cause })
      }
    },

    /**
     * Charges for a call before it is answered, and gives the credits back that it did not use.
     *
     * @throws ApiError UNAVAILABLE if it may have been refunded already
     */
    async confirm({ status: statusCode, rest }: Answer, returned = 0): Promise<void> {
      const ending = { usageId, state: 'done', statusCode, outcome: 'answered', returned } as const
      if (await ledger.confirm({ ...ending, latencyMs: latencyMs() })) return
      count('withheld')
      rest?.destroy()
      logger.warn('answer withheld: charge not confirmed or already refunded', { usage })
      throw new ApiError(
        'UNAVAILABLE',
        'This call could not be charged for in time, so its answer is withheld; its credits are given back, so try again',
        { retryAfterSeconds: 2 },
      )
    },

    /** Of a confirmed call, which stays charged if the caller received only part of the upstream's answer. */
    async completeConfirmed(sent: 'sent' | 'cut_off'): Promise<void> {
      count(sent === 'sent' ? 'answered' : 'cut_off')
      if (sent === 'sent') return
      logger.warn('upstream answer cut off', { usage })
      await ledger.markCutOff(usageId).catch((cause: unknown) => {
        logger.error('cut-off write failed', { usage, cause })
      })
    },
  }
}
