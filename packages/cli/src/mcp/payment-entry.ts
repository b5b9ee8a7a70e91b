import { type PaymentEvent, type TollgateEvents } from '@tollgate/wallet'
import { type AmountFormat } from './amounts'
import { transactionIn } from './transaction'

export type LoggedEvent = 'paid' | 'pending' | 'limit-reached'

/** A line of the payment log. `price` is such as `0.01 USDC`, `amount` the same in the asset's smallest unit. */
export type PaymentEntry = {
  time: string
  event: LoggedEvent
  price: string
  amount: string
  asset: string
  network: string
  recipient: string
  url: string
  transaction?: string
  limit?: string
}

type Detail = Partial<
  Pick<TollgateEvents['paid'], 'transaction'> & Pick<TollgateEvents['limit-reached'], 'limit'>
>

export function entryOf(
  event: LoggedEvent,
  payment: PaymentEvent & Detail,
  { now, format }: { now: Date; format: AmountFormat },
): PaymentEntry {
  const { amount, asset, network, payTo, url, limit } = payment
  return {
    time: now.toISOString(),
    event,
    price: format(amount, payment),
    amount: amount.toString(),
    asset,
    network,
    recipient: payTo,
    url: withoutSecrets(url),
    ...transactionIn(payment),
    ...(limit === undefined ? {} : { limit }),
  }
}

/** Without user, password, query and fragment, and with access keys masked. */
export function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return 'an unreadable URL'
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname.replaceAll(/tgk_[A-Za-z0-9_-]+/g, 'tgk_…')}${search === '' ? '' : '?…'}`
}
