import { describeAmount } from '../assets/asset-amount.js'
import { TollgateError } from '../errors.js'
import { type Events, type PaymentEvent } from '../events.js'
import { findBreach, isSameAsset, type Breach, type Limits } from '../limits.js'
import { type PaymentFee } from '../wallets/wallet.js'
import { eventOfPayment } from './payment-event.js'
import { openUntil, signedOf, signedOn, type PaymentLog, type StoredPayment } from './payment-log.js'

export type FindRefusal = ReturnType<typeof createAllowance>['findRefusal']

type Asset = { network: string; asset: string }

/** The payments of the account, and of these the ones that this client has signed or sent again. */
type Spending = { known: readonly StoredPayment[]; own: readonly StoredPayment[] }

/** What a client may pay: its limits, less what was signed before. */
export function createAllowance(parts: {
  limits: Limits | undefined
  log: PaymentLog
  events: Events
  now: () => number
}) {
  const { limits, log, events, now } = parts
  const own: StoredPayment[] = []

  const spentIn = (spending: Spending, asset: Asset) => ({
    today: signedOn(spending.known, asset, now()),
    inSession: signedOf(spending.own, asset),
  })
  const spentOf = (known: readonly StoredPayment[], asset: Asset) => spentIn({ known, own }, asset)

  /**
   * Why the limits forbid to send a payment that was signed earlier, perhaps by a client with other limits; undefined if they allow it,
   * which counts it as one of this client.
   */
  async function findRefusal(payment: StoredPayment): Promise<(() => TollgateError) | undefined> {
    const isOther = ({ id }: StoredPayment) => id !== payment.id
    const known = (await log.list(payment.payer)).filter(isOther)
    const breach = breachOfSigned(payment, { known, own: own.filter(isOther) })
    if (breach) return () => notSentAgain(payment, breach)
    if (own.every(isOther)) own.push(payment)
    return undefined
  }

  function breachOfSigned(payment: StoredPayment, spending: Spending): Breach | undefined {
    if (!limits) return { limit: 'assets', message: 'No limits are set' }
    const { fee } = payment
    const event = eventOfPayment(payment)
    const breach = findBreach(limits, event, spentIn(spending, event))
    if (breach || !fee) return breach
    return feeBreach(limits, event, { ...fee, amount: BigInt(fee.amount) }, spending)
  }

  function notSentAgain(payment: StoredPayment, { limit, message }: Breach): TollgateError {
    const until = openUntil(payment)
    const end = until === undefined ? '' : ` until ${minuteOf(until)} UTC, when it ends by itself`
    const text = `A payment of ${describeAmount(BigInt(payment.amount), payment)} was signed earlier and is open${end}. It was not sent, and no other one is signed in its place: ${message}`
    const { signedAt } = payment
    const details = { signedAt, ...(until !== undefined && { openUntil: until }) }
    return forbidden(eventOfPayment(payment), { limit, message: text }, details)
  }

  /** A fee is allowed as a payment of its amount would be. */
  function assertFeeAllowed(
    payment: PaymentEvent,
    fee: PaymentFee | undefined,
    known: StoredPayment[],
  ): void {
    const breach = limits && fee && feeBreach(limits, payment, fee, { known, own })
    if (!breach) return
    const message = `The payment bears a fee. ${breach.message}`
    throw forbidden({ ...payment, ...fee }, { ...breach, message })
  }

  /** A fee in the asset of the payment counts together with its amount. */
  function feeBreach(
    allowed: Limits,
    { network, asset, amount }: PaymentEvent,
    fee: PaymentFee,
    spending: Spending,
  ): Breach | undefined {
    const ofFee = { network, asset: fee.asset }
    const spent = spentIn(spending, ofFee)
    const beside = isSameAsset(ofFee, { network, asset }) ? amount : 0n
    const total = { today: spent.today + beside, inSession: spent.inSession + beside }
    return findBreach(allowed, { ...ofFee, amount: fee.amount }, total)
  }

  function forbidden(
    event: PaymentEvent,
    { limit, message }: Breach,
    more: Record<string, unknown> = {},
  ): TollgateError {
    events.emit('limit-reached', { ...event, limit })
    const code = limit === 'assets' ? 'LIMIT_NOT_SET' : 'LIMIT_REACHED'
    return new TollgateError(code, message, { details: { ...event, limit, ...more } })
  }

  return {
    assertFeeAllowed,
    findRefusal,
    forbidden,
    spentOf,
    count: (payment: StoredPayment) => void own.push(payment),
  }
}

/** `17:58`, rounded up, of Unix seconds. */
const minuteOf = (seconds: number) => new Date(Math.ceil(seconds / 60) * 60_000).toISOString().slice(11, 16)
