import { type CreateClientRequest } from '@tollgate/protocol'
import { merchant } from '../../texts'

const texts = merchant.keys.form

export const SCOPES = ['verify', 'settle', 'supported', 'settlements'] as const

/** By the words of the form. */
export const EXPIRY_HOURS = { never: undefined, month: 720, quarter: 2_160, year: 8_760 } as const

type KeyForm = {
  title: string
  scopes: string[]
  expires: string
  payTo: string
  perMinute: string
  fees: string
}

/** What a server needs that takes payments. */
export const initialKey: KeyForm = {
  title: '',
  scopes: ['verify', 'settle', 'supported'],
  expires: 'never',
  payTo: '',
  perMinute: '',
  fees: '',
}

export const validateKey = {
  title: (title: string) => (title.trim() === '' ? texts.nameMissing : null),
  scopes: (scopes: string[]) => (scopes.length === 0 ? texts.scopeMissing : null),
  perMinute: (count: string) => (/^\d*$/.test(count.trim()) ? null : texts.perMinuteWrong),
  fees: (fees: string) => (/^\d*$/.test(fees.trim()) ? null : texts.feesWrong),
}

const addressesOf = (text: string) => text.split(/[\s,;]+/).filter((address) => address !== '')

type KeyRequest = Omit<CreateClientRequest, 'scope'> & { scope: string }

/** Leaves out what the reader left empty: then there is no limit. */
export function toKeyRequest({ title, scopes, expires, payTo, perMinute, fees }: KeyForm): KeyRequest {
  const hours = EXPIRY_HOURS[expires as keyof typeof EXPIRY_HOURS]
  const recipients = addressesOf(payTo)
  const cap = fees.trim().replace(/^0+(?=\d)/, '')
  return {
    title: title.trim(),
    scope: SCOPES.filter((scope) => scopes.includes(scope)).join(','),
    ...(hours === undefined ? {} : { ttl_hours: hours }),
    ...(recipients.length === 0 ? {} : { pay_to: recipients }),
    ...(cap === '' ? {} : { max_fees_per_day: cap }),
    ...(perMinute.trim() === '' ? {} : { max_payments_per_minute: Number(perMinute) }),
  }
}
