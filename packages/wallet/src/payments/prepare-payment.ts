import { assetAmount, describeAmount } from '../assets/asset-amount.js'
import { TollgateError } from '../errors.js'
import { type Events } from '../events.js'
import {
  findBreach,
  findPriceBreach,
  type Breach,
  type Limits,
  type ListedPrice,
  type ProposedPayment,
} from '../limits.js'
import { assertNotStopped, signalOf, untilStopped, type Stops } from '../stops.js'
import { type WalletStorage } from '../storage/storage.js'
import { type PaymentFee, type SignedPayment, type SigningContext, type Wallet } from '../wallets/wallet.js'
import { createAllowance } from './allowance.js'
import { type Offer } from './offer.js'
import { clockWrong } from './clock.js'
import { CLOCK_SKEW_SECONDS, type PaymentLog, type StoredPayment } from './payment-log.js'
import { eventOfPayment } from './payment-event.js'
import { paymentHeader, type PaymentRequired } from './payment-required.js'

export type PreparePayment = ReturnType<typeof createPreparePayment>['prepare']

export type PaymentWish = {
  url: string
  purpose: string
  /** Of the payment, if one is signed. */
  id: string
  required: PaymentRequired
  /** The most that may be signed, where a price is listed. */
  listed?: ListedPrice
  /** Returns the open payment of the purpose instead of signing another one. */
  isSingle: boolean
  /** Stops the asking: what was not signed by then is not signed. */
  signal: AbortSignal | undefined
}

type Draft = { offer: Offer; fee?: PaymentFee; sign(): Promise<SignedPayment>; payment?: SignedPayment }

/**
 * Chooses an offer within the limits, signs it, and stores it: only what is stored may be sent.
 *
 * @throws TollgateError ABORTED, CLOSED, CLOCK_WRONG, NO_PAYABLE_OFFER, LIMIT_NOT_SET, LIMIT_REACHED, PAYMENT_NOT_APPROVED, SIGNATURE_REFUSED, STORAGE_FAILED
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
  const { wallet, limits, log, storage, events, now, closed } = parts
  const allowance = createAllowance({ limits, log, events, now })
  const { assertFeeAllowed, forbidden, spentOf } = allowance

  async function prepare(wish: PaymentWish): Promise<StoredPayment> {
    // Before `canPay`, which goes by the account.
    const payer = await untilStopped(() => wallet.address(), stopsOf(wish))
    const payable = wish.required.offers.filter((offer) => wallet.canPay(offer))
    if (payable.length === 0) throw noPayableOffer(wish)
    return storage.lock(
      `sign/${payer.toLowerCase()}`,
      () => signOne(wish, payable, payer),
      signalOf(stopsOf(wish)),
    )
  }

  async function signOne(wish: PaymentWish, payable: Offer[], payer: string): Promise<StoredPayment> {
    let draft: Draft | undefined
    for (;;) {
      const known = await log.list(payer)
      const open = known.find(({ purpose, state }) => purpose === wish.purpose && state === 'open')
      if (open && wish.isSingle) return assertAllowed(open)
      const offer = chooseOffer(wish, payable, known)
      if (draft?.offer !== offer) draft = await draftOf(wish, offer)
      assertFeeAllowed(eventOf(wish.url, draft.offer), draft.fee, known)
      if (!draft.payment) {
        draft.payment = await sign(wish, draft, payer)
        if (draft.payment.fee) draft.fee = draft.payment.fee
        // Its user may have confirmed another one.
        assertFeeAllowed(eventOf(wish.url, draft.offer), draft.fee, known)
      }
      assertNotStopped(stopsOf(wish))
      const stored = await store(wish, payer, known, draft, draft.payment)
      if (stored) {
        allowance.count(stored)
        await log.prune(known).catch(() => undefined)
        return stored
      }
    }
  }

  /** Signed while this client waited for the lock, perhaps within other limits. */
  async function assertAllowed(payment: StoredPayment): Promise<StoredPayment> {
    const refuse = await allowance.findRefusal(payment)
    if (refuse) throw refuse()
    return payment
  }

  function stopsOf({ signal }: PaymentWish): Stops {
    return { closed, signal }
  }

  /** The first offer within the limits; the server has put the one it prefers first. */
  function chooseOffer({ url, listed }: PaymentWish, payable: Offer[], known: StoredPayment[]): Offer {
    const breaches: { offer: Offer; breach: Breach }[] = []
    for (const offer of payable) {
      if (!limits) throw new TollgateError('LIMIT_NOT_SET', notSet(offer))
      const breach =
        findBreach(limits, offer, spentOf(known, offer)) ?? (listed && findPriceBreach(listed, offer))
      if (!breach) return offer
      breaches.push({ offer, breach })
    }
    const nearest = breaches.find(({ breach }) => breach.limit !== 'assets') ?? breaches[0]
    if (!nearest) throw new Error('There is no offer to choose from')
    throw forbidden(eventOf(url, nearest.offer), nearest.breach)
  }

  async function draftOf(wish: PaymentWish, offer: Offer): Promise<Draft> {
    const clockSkew = Math.floor(wish.required.clockSkew / 1000)
    // It would count as expired, and another one be signed, while the chain still takes it.
    if (wish.isSingle && clockSkew < -CLOCK_SKEW_SECONDS)
      throw clockWrong(clockSkew, 'a payment would outlive its time')
    const context: SigningContext = {
      now: () => Math.floor(now() / 1000),
      clockSkew,
      nodeUrl: parts.nodeUrl,
      stops: stopsOf(wish),
    }
    return { offer, ...(await untilStopped(() => wallet.draftPayment(offer, context), stopsOf(wish))) }
  }

  /** A signature that comes after the caller has stopped is dropped: it was not sent to anyone. */
  async function sign(wish: PaymentWish, { offer, fee, sign }: Draft, payer: string): Promise<SignedPayment> {
    const proposed = { ...eventOf(wish.url, offer), ...(fee && { fee }) }
    events.emit('payment-required', proposed)
    await assertApproved(proposed, stopsOf(wish))
    const payment = await untilStopped(sign, stopsOf(wish))
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

  async function assertApproved(proposed: ProposedPayment, stops: Stops): Promise<void> {
    if (!limits?.approve) return
    const refused = (cause?: unknown) =>
      new TollgateError(
        'PAYMENT_NOT_APPROVED',
        `The payment of ${describeAmount(proposed.amount, proposed)} to ${proposed.payTo} was not approved`,
        { cause },
      )
    const approve = async () => {
      try {
        const price = assetAmount(proposed.amount, proposed)
        return await limits.approve?.({ ...proposed, ...(price && { price }) })
      } catch (cause) {
        throw refused(cause)
      }
    }
    if ((await untilStopped(approve, stops)) !== true) throw refused()
  }

  function store(
    { url, purpose, id, required, isSingle }: PaymentWish,
    payer: string,
    known: StoredPayment[],
    { offer, fee }: Draft,
    payment: SignedPayment,
  ): Promise<StoredPayment | false> {
    const { network, asset, payTo, amount } = offer
    const { validUntil, nonce } = payment
    return log.append(known, {
      ...{ id, payer, purpose, url, network, asset, payTo, amount: amount.toString() },
      ...(fee && { fee: { asset: fee.asset, amount: fee.amount.toString() } }),
      ...(isSingle && { isSingle }),
      nonce,
      signedAt: now(),
      header: paymentHeader(offer, payment, required, `payment-${id}`),
      ...(validUntil === undefined ? {} : { validUntil }),
    })
  }

  return { prepare, findRefusal: allowance.findRefusal }
}

const eventOf = (url: string, { network, asset, payTo, amount }: Offer): ProposedPayment => ({
  url,
  network,
  asset,
  payTo,
  amount,
})

/** Emits `pending` when it is first called: the payment was sent, and what became of it is not known. */
export function announcePending(events: Events, payment: StoredPayment): () => void {
  let isAnnounced = false
  return () => {
    if (!isAnnounced) events.emit('pending', eventOfPayment(payment))
    isAnnounced = true
  }
}

const notSet = (offer: Offer) =>
  `A payment of ${describeAmount(offer.amount, offer)} is required, and no limits are set`

function noPayableOffer({ required, url }: PaymentWish): TollgateError {
  const offered = required.offers.map(({ scheme, network, asset }) => `${scheme} ${asset} on ${network}`)
  const list = offered.length === 0 ? 'nothing that can be read' : offered.join(', ')
  return new TollgateError(
    'NO_PAYABLE_OFFER',
    `The wallet cannot pay what ${new URL(url).origin} asks for: ${list}`,
  )
}
