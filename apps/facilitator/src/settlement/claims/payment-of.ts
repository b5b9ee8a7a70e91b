import { type Payment } from '@tollgate/chains'
import { type Network } from '../../networks/network'
import { type Claim } from './claim'

/** @throws Error if the chain family cannot parse the stored payload */
export function paymentOf(family: Network['family'], { payload }: Pick<Claim, 'payload'>): Payment {
  const payment = family.readPayment(payload)
  if (!payment) throw new Error('the stored payload cannot be parsed')
  return payment
}
