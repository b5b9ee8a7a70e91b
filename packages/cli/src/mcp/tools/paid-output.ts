import { type PaymentEvent, type TollgateEvents } from '@tollgate/wallet'
import { z } from 'zod'
import { type AmountFormat } from '../amounts'
import { transactionIn } from '../transaction'

const payment = {
  price: z.string().describe('Such as 0.01 USDC'),
  amount: z.string().describe('The same in the asset’s smallest unit'),
  asset: z.string(),
  network: z.string(),
  recipient: z.string(),
}

export const PaidOutput = z.object({
  ...payment,
  transaction: z
    .string()
    .optional()
    .describe('As the recipient states it; absent if that is no hash of a transaction'),
})

export const SentOutput = z.object(payment)

export const SENT_DESCRIPTION =
  'Signed payments that were sent and have no outcome: the recipient may take them, or have taken them. Do not pay again in another way'

const outputOf = ({ amount, asset, network, payTo }: PaymentEvent, format: AmountFormat) => ({
  price: format(amount, { asset, network }),
  amount: amount.toString(),
  asset,
  network,
  recipient: payTo,
})

export const paidOutput = (
  paid: readonly TollgateEvents['paid'][],
  format: AmountFormat,
): z.input<typeof PaidOutput>[] => paid.map((one) => ({ ...outputOf(one, format), ...transactionIn(one) }))

export const sentOutput = (
  sent: readonly PaymentEvent[],
  format: AmountFormat,
): z.input<typeof SentOutput>[] => sent.map((one) => outputOf(one, format))
