import { type Payment } from './family'

/**
 * Whether the payment is a transaction of its payer's account, also one that our signer signs too. The payer of a refused one signs
 * the next under the same account nonce, so a new payment may take its place.
 */
export const isPayersTransaction = ({
  transaction,
  countersigned,
}: Pick<Payment, 'transaction' | 'countersigned'>): boolean =>
  transaction !== undefined || countersigned !== undefined
