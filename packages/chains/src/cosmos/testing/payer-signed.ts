import type { SignedTransaction } from '../../family'
import { type CosmosPayment, readPayment } from '../transfer-methods/bank-send/payment'

/** Only its payer signs it. */
export type PayerSigned = CosmosPayment & { transaction: SignedTransaction }

export function readPayerSigned(payload: unknown): PayerSigned {
  const payment = readPayment(payload)
  if (payment?.transaction === undefined) throw new Error('The payment cannot be read')
  return { ...payment, transaction: payment.transaction }
}
