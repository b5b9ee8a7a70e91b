import { TollgateError } from '../errors.js'
import { type Events, type PaymentEvent } from '../events.js'
import { ownSignal } from '../http.js'
import { findBreach, isSameAsset, type Breach, type Limits, type ProposedPayment } from '../limits.js'
import { type WalletStorage } from '../storage/storage.js'
import { type SignedPayment, type SigningContext, type Wallet } from '../wallets/wallet.js'
import { type Offer } from './offer.js'
import { signedOn, sumOf, type PaymentLog, type StoredPayment } from './payment-log.js'
import { paymentHeader, type PaymentRequired } from './payment-required.js'

export type PreparePayment = ReturnType<typeof createPreparePayment>

export type PaymentWish = {
  url: string
  purpose: string
  /** Of the payment, if one is signed. */
  id: string
  required: PaymentRequired
  /** Returns the open payment of the purpose instead of signing another one. */
  isSingle: boolean
}

/**
 * Chooses an offer within the limits, signs it, and stores it: only what is stored may be sent.
 *
 * @throws TollgateError NO_PAYABLE_OFFER, LIMIT_NOT_SET, LIMIT_REACHED, PAYMENT_NOT_APPROVED, SIGNATURE_REFUSED, STORAGE_FAILED
 */
export function createPreparePayment(parts: {
  wallet: Wallet
  limits: Limits | undefined
  log: PaymentLog
  storage: WalletStorage
  events: Events
  now: () => number
  nodeUrl: SigningContext['nodeUrl']
  closed: AbortSignal
}) {
  const { wallet, limits, log, storage, events, now } = parts
  /** Signed by this client. */
  const own: StoredPayment[] = []

  return async (wish: PaymentWish): Promise<StoredPayment> => {
    // Before `canPay`, which goes by the account.
    const payer = await wallet.address()
    const payable = wish.required.offers.filter((offer) => wallet.canPay(offer))
    if (payable.length === 0) throw noPayableOffer(wish)
    return storage.lock(
      `sign/${payer.toLowerCase()}`,
      () => signOne(wish, payable, payer),
      ownSignal(parts.closed),
    )
  }

  async function signOne(wish: PaymentWish, payable: Offer[], payer: string): Promise<StoredPayment> {
    let signed: { offer: Offer; payment: SignedPayment } | undefined
    for (;;) {
      const known = await log.list(payer)
      const open = known.find(({ purpose, state }) => purpose === wish.purpose && state === 'open')
      if (open && wish.isSingle) return open
      const offer = chooseOffer(wish, payable, known)
      if (signed?.offer !== offer) signed = { offer, payment: await sign(wish.url, offer, payer) }
      const stored = await store(wish, payer, known, signed)
      if (stored) {
        own.push(stored)
        await log.prune(known)
        return stored
      }
    }
  }

  /** The first offer within the limits; the server has put the one it prefers first. */
  function chooseOffer({ url }: PaymentWish, payable: Offer[], known: StoredPayment[]): Offer {
    const breaches: { offer: Offer; breach: Breach }[] = []
    for (const offer of payable) {
      if (!limits) throw new TollgateError('LIMIT_NOT_SET', notSet(offer))
      const breach = findBreach(limits, offer, spentOf(known, offer))
      if (!breach) return offer
      breaches.push({ offer, breach })
    }
    const nearest = breaches.find(({ breach }) => breach.limit !== 'assets') ?? breaches[0]
    if (!nearest) throw new Error('There is no offer to choose from')
    const { offer, breach } = nearest
    const event = eventOf(url, offer)
    events.emit('limit-reached', { ...event, limit: breach.limit })
    const code = breach.limit === 'assets' ? 'LIMIT_NOT_SET' : 'LIMIT_REACHED'
    throw new TollgateError(code, breach.message, { details: { ...event, limit: breach.limit } })
  }

  function spentOf(known: readonly StoredPayment[], asset: Offer) {
    const inSession = sumOf(own.filter((payment) => isSameAsset(payment, asset)))
    return { today: signedOn(known, asset, now()), inSession }
  }

  async function sign(url: string, offer: Offer, payer: string): Promise<SignedPayment> {
    const proposed = eventOf(url, offer)
    events.emit('payment-required', proposed)
    if (limits?.approve && !(await limits.approve(proposed)))
      throw new TollgateError(
        'PAYMENT_NOT_APPROVED',
        `The payment of ${offer.amount} to ${offer.payTo} was not approved`,
      )
    const payment = await wallet.signPayment(offer, {
      now: Math.floor(now() / 1000),
      nodeUrl: parts.nodeUrl,
      signal: parts.closed,
    })
    if (payment.payer.toLowerCase() !== payer.toLowerCase())
      throw new TollgateError(
        'SIGNATURE_REFUSED',
        `The wallet changed its account to ${payment.payer}; nothing was sent`,
      )
    if (payment.validUntil !== undefined && payment.validUntil * 1000 <= now())
      throw new TollgateError(
        'SIGNATURE_REFUSED',
        'The payment expired before the wallet had signed it; nothing was sent',
      )
    return payment
  }

  function store(
    { url, purpose, id, required }: PaymentWish,
    payer: string,
    known: StoredPayment[],
    { offer, payment }: { offer: Offer; payment: SignedPayment },
  ): Promise<StoredPayment | false> {
    const { network, asset, payTo, amount } = offer
    const { validUntil } = payment
    return log.append(known, {
      ...{ id, payer, purpose, url, network, asset, payTo, amount: amount.toString() },
      signedAt: now(),
      header: paymentHeader(offer, payment, required, `payment-${id}`),
      ...(validUntil === undefined ? {} : { validUntil }),
    })
  }
}

const eventOf = (url: string, { network, asset, payTo, amount }: Offer): PaymentEvent & ProposedPayment => ({
  url,
  network,
  asset,
  payTo,
  amount,
})

export const eventOfPayment = ({ url, network, asset, payTo, amount }: StoredPayment): PaymentEvent => ({
  url,
  network,
  asset,
  payTo,
  amount: BigInt(amount),
})

const notSet = ({ amount, asset, network }: Offer) =>
  `A payment of ${amount} of ${asset} on ${network} is required, and no limits are set`

function noPayableOffer({ required, url }: PaymentWish): TollgateError {
  const offered = required.offers.map(({ scheme, network, asset }) => `${scheme} ${asset} on ${network}`)
  const list = offered.length === 0 ? 'nothing that can be read' : offered.join(', ')
  return new TollgateError(
    'NO_PAYABLE_OFFER',
    `The wallet cannot pay what ${new URL(url).origin} asks for: ${list}`,
  )
}
