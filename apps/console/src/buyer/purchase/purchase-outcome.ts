import { buyer } from '../../texts'
import { readableNumber } from '../../ui/format'
import { failureText, refusalText } from './failure-text'
import { type Moment, type Purchase, type PurchaseStatus, secondsToNext, statusOf } from './purchase'

const texts = buyer.purchase

/** `same-again` sends the payment that was signed; `buy` may ask the wallet for another one. */
type PurchaseAction = 'cancel' | 'ask-again' | 'same-again' | 'buy' | 'use-credits' | 'dismiss'

/** All that the page says of a purchase, from its one status. */
export type PurchaseOutcome = {
  status: PurchaseStatus
  color: 'green' | 'red' | 'yellow'
  /** Undefined while the steps say all. */
  title: string | undefined
  text: string
  /** When the payment ends, or when another one can be signed. */
  countdown: string | undefined
  mayClose: string | undefined
  action: PurchaseAction | undefined
}

export function outcomeOf(purchase: Purchase, moment: Moment): PurchaseOutcome {
  const status = statusOf(purchase, moment)
  return {
    status,
    color: colors[status] ?? 'yellow',
    title: status === 'asked' || status === 'signed' ? undefined : texts.outcomes[status].title,
    text: textOf(purchase, status),
    countdown: countdownOf(purchase, status, moment.now),
    mayClose: mayCloseOf(status),
    action: actionOf(purchase, status, moment.now),
  }
}

const colors: Partial<Record<PurchaseStatus, PurchaseOutcome['color']>> = {
  credited: 'green',
  refused: 'red',
  failed: 'red',
  disputed: 'red',
  lost: 'red',
}

function textOf({ run, record, plan, stage, isEarlier }: Purchase, status: PurchaseStatus): string {
  const error = run.is === 'stopped' ? run.error : undefined
  switch (status) {
    case 'asked':
    case 'signed':
      return ''
    case 'credited': {
      const credits = run.is === 'done' ? run.bought.credits : (record?.credits ?? plan.credits)
      return (isEarlier ? texts.boughtEarlier : texts.bought)(readableNumber(credits))
    }
    case 'failed':
      return failureText(error, stage === 'sign-in' ? 'sign-in' : 'sign')
    case 'refused':
      return refusalText(error) ?? record?.next ?? texts.outcomes.refused.text
    case 'known':
    case 'disputed':
      return record?.next ?? texts.outcomes[status].text
    default:
      return texts.outcomes[status].text
  }
}

const isCounted: ReadonlySet<PurchaseStatus> = new Set(['signed', 'unsent', 'unknown', 'known'])

function countdownOf(purchase: Purchase, status: PurchaseStatus, now: number): string | undefined {
  const { validUntil } = purchase
  if (validUntil === undefined) return undefined
  const left = Math.ceil(validUntil - now / 1000)
  if (isCounted.has(status)) return left > 0 ? texts.countdown(left) : undefined
  const seconds = secondsToNext(purchase, now)
  return status === 'expired' && seconds > 0 ? texts.buyAgainIn(seconds) : undefined
}

function mayCloseOf(status: PurchaseStatus): string | undefined {
  if (status === 'known' || status === 'late') return texts.mayClose.known
  return status === 'unknown' || status === 'unsent' ? texts.mayClose.other : undefined
}

const actions: Record<PurchaseStatus, PurchaseAction | undefined> = {
  asked: 'cancel',
  signed: undefined,
  unsent: 'ask-again',
  unknown: 'ask-again',
  known: 'ask-again',
  late: 'ask-again',
  credited: 'use-credits',
  refused: 'buy',
  // The reader has read why the payment is disputed, and dismisses it at their own risk.
  disputed: 'dismiss',
  lost: 'dismiss',
  cancelled: 'buy',
  failed: 'buy',
  elsewhere: 'buy',
  busy: 'buy',
  expired: 'buy',
}

const whileUnderWay: ReadonlySet<PurchaseAction | undefined> = new Set(['cancel', 'use-credits', 'dismiss'])

function actionOf(purchase: Purchase, status: PurchaseStatus, now: number): PurchaseAction | undefined {
  const action = actions[status]
  const { run, nonce } = purchase
  if (run.is === 'under-way' && !whileUnderWay.has(action)) return undefined
  if (status === 'expired') return secondsToNext(purchase, now) > 0 ? undefined : 'buy'
  // The payment that was refused may have been sent again, and taken, elsewhere: no other one is made in its place.
  const isStored = run.is === 'stopped' && run.isStored && nonce !== undefined
  return action === 'buy' && isStored ? 'same-again' : action
}
