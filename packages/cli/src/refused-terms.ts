import { isTollgateError, type Limits, type Plan } from '@tollgate/wallet'
import { networkOf } from './amounts'
import { describeAmount } from './assets/asset-amounts'
import { isSameAsset } from './assets/known-assets'
import { type KnownAsset } from './assets/stablecoins'
import { CommandError, EXIT } from './exit-codes'
import { minuteOf } from './output/table'

/** A payment that the limits do not allow, as the details of the error have it. */
type Asked = {
  network: string
  asset: string
  payTo: string
  amount: bigint
  limit: string
  /** If it was signed earlier; in Unix milliseconds. */
  signedAt: number
  /** Unix seconds. */
  openUntil: number
}

/** What was about to be bought. */
type Purchase = { plan: Plan; limits: Limits | undefined; known: readonly KnownAsset[] }

/** An error of the limits, with what was asked for and what to do. Other errors as they are. */
export function explainLimits(error: unknown, purchase: Purchase): unknown {
  if (!isTollgateError(error)) return error
  const { code, details, message } = error
  if (code !== 'LIMIT_NOT_SET' && code !== 'LIMIT_REACHED') return error
  // Its details are those of the fee, which no price list has.
  if (message.startsWith('The payment bears a fee')) return error
  const { text, advice } = explanationOf(details, purchase)
  return new CommandError(code, text, advice, EXIT.PAYMENT_NEEDED)
}

function explanationOf(details: Partial<Asked>, { plan, limits, known }: Purchase) {
  const listed: Payment = {
    ...{ network: networkOf(plan), asset: plan.asset_address },
    ...{ payTo: plan.pay_to, amount: BigInt(plan.amount) },
  }
  const asked = { ...listed, ...details }
  const price = describeAmount(asked.amount, asked, known)
  if (details.signedAt !== undefined) return explanationOfSigned({ ...asked, ...details }, price)
  if (!isSamePayment(asked, listed))
    return {
      text: `The gateway asks for ${price} to ${asked.payTo}, and its price list says ${describeAmount(listed.amount, listed, known)} to ${listed.payTo}`,
      advice: 'Nothing was signed. Do not raise a limit for this: ask the operator of the gateway.',
    }
  const advice = `Raise the limit, choose another plan (see \`tollgate plans\`), or confirm the price with \`tollgate buy --plan ${plan.id}\`.`
  const [most] = limits?.assets ?? []
  if (details.limit === 'perDay') {
    const perDay = most?.perDay === undefined ? '' : ` ${describeAmount(BigInt(most.perDay), most, known)}`
    return { text: `A purchase for ${price} would exceed --max-day${perDay}`, advice }
  }
  const allowance = most
    ? `more than --max-payment ${describeAmount(BigInt(most.perPayment), most, known)}`
    : 'which no limit allows'
  return { text: `A purchase of ${plan.credits} credits costs ${price}, ${allowance}`, advice }
}

function explanationOfSigned({ limit, openUntil }: Partial<Asked>, price: string) {
  const until = openUntil === undefined ? '' : ` until ${minuteOf(openUntil)} UTC`
  const end = openUntil === undefined ? '' : ` It ends by itself at ${minuteOf(openUntil)} UTC.`
  const missing = signedLimits[limit ?? ''] ?? `no --max-payment allows it`
  return {
    text: `A payment of ${price} was signed earlier and is open${until}. It was not sent, because ${missing}; nothing else was signed`,
    advice: `To send it, allow ${price} with --max-payment, and within --max-day if you give that.${end}`,
  }
}

const signedLimits: Record<string, string> = {
  perPayment: 'it is more than --max-payment',
  perDay: 'it would exceed --max-day',
  recipients: 'it is to another recipient than the plan names now',
}

type Payment = Pick<Asked, 'network' | 'asset' | 'payTo' | 'amount'>

const isSamePayment = (one: Payment, other: Payment): boolean =>
  isSameAsset(one, other) &&
  one.amount === other.amount &&
  isSameAsset({ ...one, asset: one.payTo }, { ...other, asset: other.payTo })
