import { type Claim } from './claims/claim'

/** Of every log line about a settlement. `paymentId`: the Idempotency-Key of the request that claimed it. */
export const idsOf = ({ id, paymentId, requestId }: Pick<Claim, 'id' | 'paymentId' | 'requestId'>) => ({
  settlementId: id,
  paymentId: paymentId ?? undefined,
  requestId: requestId ?? undefined,
})
