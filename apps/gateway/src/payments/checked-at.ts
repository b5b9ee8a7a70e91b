import { type Payment } from '@tollgate/chains'

const ENDED_LATELY_MS = 24 * 3_600_000

/** When a payment is checked: an authorization that has ended lately may have been used in time, which the facilitator knows. */
export function checkedAt({ validUntil }: Pick<Payment, 'validUntil'>, now: Date): Date {
  if (validUntil === undefined || validUntil * 1_000n > BigInt(now.getTime())) return now
  const lastMoment = Number(validUntil) * 1_000 - 1
  return now.getTime() - lastMoment < ENDED_LATELY_MS ? new Date(lastMoment) : now
}
