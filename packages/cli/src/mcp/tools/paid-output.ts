import { z } from 'zod'
import { type Paid } from '../call-events'

export const PaidOutput = z.object({
  amount: z.string().describe('In the asset’s smallest unit'),
  asset: z.string(),
  network: z.string(),
  recipient: z.string(),
  transaction: z.string(),
})

export const paidOutput = (paid: readonly Paid[]): z.input<typeof PaidOutput>[] =>
  paid.map(({ amount, asset, network, payTo, transaction }) => ({
    amount: amount.toString(),
    asset,
    network,
    recipient: payTo,
    transaction,
  }))
