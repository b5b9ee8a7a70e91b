import { type PaymentEvent } from '../events.js'
import { type StoredPayment } from './payment-log.js'

export const eventOfPayment = ({ url, network, asset, payTo, amount }: StoredPayment): PaymentEvent => ({
  url,
  network,
  asset,
  payTo,
  amount: BigInt(amount),
})
