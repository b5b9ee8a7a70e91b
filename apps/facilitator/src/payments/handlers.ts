import { ChainUnavailable } from '@tollgate/chains'
import { encodeJson, IdempotencyKey } from '@tollgate/protocol'
import { ApiError, arrivalOf, requestId, spanOf, type ErrorCode } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Cataloger, type CatalogOutcome } from '../catalog/cataloger'
import { type Caller } from '../clients/store'
import { isRefusal } from '../settlement/refusal'
import { type Settle } from './settle'
import { type Verify } from './verify'
import { type X402Version } from './versions/version'

export type PaymentOperations = { verify: Verify; settle: Settle; cataloger: Pick<Cataloger, 'add'> }

export function createPaymentHandlers(
  { verify, settle, cataloger }: PaymentOperations,
  { read, readDeclarations, spell }: X402Version,
) {
  return {
    async verify(req: Request, res: Response, caller: Caller) {
      res.json(await verify(read(req.body), caller, spanOf(req)).catch(failWith('VERIFICATION_FAILED')))
    },

    async settle(req: Request, res: Response, caller: Caller) {
      const request = read(req.body)
      const options = {
        idempotencyKey: readIdempotencyKey(req),
        requestId: requestId(req),
        span: spanOf(req),
        arrivedAtMs: arrivalOf(req).monotonicMs,
        isClosed: () => res.closed,
      }
      const result = await settle(request, caller, options).catch(failWith('SETTLEMENT_FAILED'))
      if (result.success && !isRefusal(request)) {
        const settled = { userId: caller.userId, required: request.required }
        const settledAt = new Date(result.timestamp)
        reportCatalog(
          res,
          cataloger.add({ ...settled, settledAt, readDeclarations: () => readDeclarations(req.body) }),
        )
      }
      res.json({ ...result, network: spell(result.network) })
    },
  }
}

/** The x402 version 2 specification, 7.2.1. */
function reportCatalog(res: Response, outcome: CatalogOutcome | undefined) {
  if (outcome) res.set('EXTENSION-RESPONSES', encodeJson({ bazaar: outcome }))
}

function readIdempotencyKey(req: Request): string | null {
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
