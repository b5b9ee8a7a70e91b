import { type Claim } from './claims/claim'

/** Of every log line about a settlement. The gateway logs its Idempotency-Key as `paymentId` too: one search finds both. */
export const idsOf = ({
  id,
  idempotencyKey,
  requestId,
}: Pick<Claim, 'id' | 'idempotencyKey' | 'requestId'>) => ({
  settlementId: id,
  paymentId: idempotencyKey ?? undefined,
  requestId: requestId ?? undefined,
})
