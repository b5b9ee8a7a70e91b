/** Events that exist only for users whose client keys settled a payment. */
export const PAID_EVENTS = ['settlement.settled'] as const
