import { ChainUnavailable } from '@tollgate/chains'
import { IdempotencyKey } from '@tollgate/protocol'
import { ApiError, arrivalOf, requestId, type ErrorCode } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Caller } from '../clients/store'
import { type Dialect } from './dialect'
import { type Facilitator } from './facilitator'

/** `/verify` and `/settle` as a version of x402 has them. */
export function createPaymentHandlers(facilitator: Facilitator, { read, spell }: Dialect) {
  return {
    async verify(req: Request, res: Response, caller: Caller) {
      const asked = read(req.body)
      res.json(await facilitator.verify(asked, caller).catch(failWith('VERIFICATION_FAILED')))
    },

    async settle(req: Request, res: Response, caller: Caller) {
      const asked = read(req.body)
      const asking = {
        idempotencyKey: idempotencyKey(req),
        requestId: requestId(req),
        arrivedAtMs: arrivalOf(req).monotonicMs,
        hasLeft: () => res.closed,
      }
      const result = await facilitator.settle(asked, caller, asking).catch(failWith('SETTLEMENT_FAILED'))
      res.json({ ...result, network: spell(result.network) })
    },
  }
}

function idempotencyKey(req: Request): string | null {
  const key = req.get('Idempotency-Key')
  if (key === undefined) return null
  if (!IdempotencyKey.safeParse(key).success)
    throw new ApiError('INVALID_REQUEST', 'Send one Idempotency-Key of 1 to 128 visible ASCII characters')
  return key
}

const failWith = (code: ErrorCode) => (cause: unknown) => {
  if (cause instanceof ApiError) throw cause
  const message =
    cause instanceof ChainUnavailable
      ? 'The network gives no answer right now; nothing was done, send the request again in a moment'
      : 'Something failed on our side; send the same request again to learn the outcome'
  throw new ApiError(code, message, { cause })
}
