import { traceIdOf } from '@tollgate/service'
import { type Claim } from './claims/claim'

/** Of every log line about a settlement. The gateway logs its Idempotency-Key as `paymentId` too: one search finds both. */
export const idsOf = ({
  id,
  idempotencyKey,
  requestId,
  traceparent,
}: Pick<Claim, 'id' | 'idempotencyKey' | 'requestId' | 'traceparent'>) => ({
  settlementId: id,
  paymentId: idempotencyKey ?? undefined,
  requestId: requestId ?? undefined,
  traceId: traceIdOf(traceparent),
})
