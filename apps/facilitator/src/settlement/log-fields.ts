import { type Claim } from './claims/claim'

/**
 * By which a log line about a settlement is found: the settlement's own id, the `Idempotency-Key` of the request that claimed it
 * (the gateway sends its payment's id), and that request's id.
 */
export const idsOf = ({ id, paymentId, requestId }: Pick<Claim, 'id' | 'paymentId' | 'requestId'>) => ({
  settlementId: id,
  paymentId: paymentId ?? undefined,
  requestId: requestId ?? undefined,
})
