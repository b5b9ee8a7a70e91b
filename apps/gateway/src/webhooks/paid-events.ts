/** Events that exist only for wallets that have paid. */
export const PAID_EVENTS = ['payment.settled', 'credits.bought'] as const
