import { type OpenPayment, type Plan } from '@tollgate/wallet'
import {
  begun,
  continued,
  isFollowed,
  isToContinue,
  isUndecided,
  keyOf,
  type Purchase,
  type PurchaseStatus,
  secondsToNext,
  statusOf,
} from './purchase'
import { type PaymentProgress } from './purchase-steps'

const plan = { id: 1, credits: 100 } as Plan
const asked = begun('0xA', plan)
const signed: Purchase = { ...asked, stage: 'signed' }
const sent: Purchase = { ...signed, stage: 'sent' }
const earlier = continued('0xA', plan, { nonce: '0x01' })
const record = (step: PaymentProgress['step'], status = '') =>
  ({ step, status, transaction: null }) as unknown as PaymentProgress
const failed = (code: string, before: Purchase, isStored: boolean, isRefused = false): Purchase => ({
  ...before,
  run: { is: 'stopped', error: Object.assign(new Error(code), { code }), isStored, isRefused },
})
const done = { is: 'done', bought: { planId: 1, amount: 1n, transaction: '0x1', credits: 100 } } as const
/** The payment of `sent`, which ends at second 1000. */
const ending: Purchase = { ...sent, validUntil: 1000 }
const MOMENT = { now: 900_000, isOnline: true }

/** `undecided`: buying again could pay twice. */
test.each<[string, Purchase, PurchaseStatus, 'undecided' | 'over']>([
  ['begun', asked, 'asked', 'undecided'],
  ['priced', { ...asked, stage: 'sign' }, 'asked', 'undecided'],
  ['signed', signed, 'signed', 'undecided'],
  ['sent, and not answered', sent, 'unknown', 'undecided'],
  ['sent, and not known to the gateway', { ...sent, record: null }, 'unknown', 'undecided'],
  ['sent, and known to the gateway', { ...sent, record: record('broadcast') }, 'known', 'undecided'],
  ['sent again after a refusal', { ...sent, record: record('failed') }, 'unknown', 'undecided'],
  ['credited, says the gateway', { ...sent, record: record('credited') }, 'credited', 'undecided'],
  ['bought', { ...sent, run: done }, 'credited', 'over'],
  ['of before, and asked for again', earlier, 'unknown', 'undecided'],

  ['rejected by the wallet', failed('SIGNATURE_REFUSED', asked, false), 'failed', 'over'],
  ['offline before the signature', failed('UNREACHABLE', asked, false), 'failed', 'over'],
  ['a proxy denies the price', failed('GATEWAY_ERROR', asked, false), 'failed', 'over'],
  ['cancelled before the signature', failed('ABORTED', asked, false), 'cancelled', 'over'],
  ['cancelled, and yet stored', failed('ABORTED', asked, true), 'unknown', 'undecided'],
  ['signed, and not stored', failed('STORAGE_FAILED', signed, false), 'failed', 'over'],
  ['while another device pays', failed('PAYMENT_PENDING', asked, false), 'busy', 'over'],
  ['bought in another tab', failed('PURCHASE_UNDER_WAY', asked, false), 'elsewhere', 'over'],

  ['a proxy answers the payment', failed('GATEWAY_ERROR', sent, true), 'unknown', 'undecided'],
  ['no answer for minutes', failed('PAYMENT_PENDING', sent, true), 'unknown', 'undecided'],
  ['the session cannot be renewed', failed('SIGN_IN_REFUSED', sent, true), 'unknown', 'undecided'],
  [
    'a proxy answers, the gateway has it',
    { ...failed('GATEWAY_ERROR', sent, true), record: record('signed') },
    'known',
    'undecided',
  ],
  [
    'a proxy answers, it is credited',
    { ...failed('GATEWAY_ERROR', sent, true), record: record('credited') },
    'credited',
    'over',
  ],
  [
    'a proxy answers, it is refused',
    { ...failed('GATEWAY_ERROR', sent, true), record: record('failed') },
    'refused',
    'over',
  ],
  ['refused', failed('PAYMENT_REFUSED', sent, true), 'refused', 'over'],
  [
    'refused, and yet under way',
    { ...failed('PAYMENT_REFUSED', sent, true), record: record('broadcast') },
    'known',
    'undecided',
  ],
  ['refused until it expired', failed('PAYMENT_REFUSED', sent, false), 'refused', 'over'],
  [
    'refused before, and cancelled when it was to be sent again',
    failed('ABORTED', earlier, true, true),
    'refused',
    'over',
  ],
  ['disputed', failed('PAYMENT_DISPUTED', sent, false), 'disputed', 'undecided'],
  [
    'disputed, says the gateway',
    { ...failed('GATEWAY_ERROR', sent, true), record: record('pending', 'disputed') },
    'disputed',
    'undecided',
  ],
  ['expired without an outcome', failed('PAYMENT_UNKNOWN', sent, false), 'lost', 'undecided'],

  [
    'ended meanwhile, and not asked for yet',
    failed('PAYMENT_NOT_APPROVED', earlier, false),
    'unknown',
    'undecided',
  ],
  [
    'ended meanwhile, and never known',
    { ...failed('PAYMENT_NOT_APPROVED', earlier, false), record: null },
    'expired',
    'over',
  ],
  [
    'ended meanwhile, in another tab',
    { ...failed('PAYMENT_NOT_APPROVED', earlier, false), record: record('credited') },
    'credited',
    'over',
  ],
  ...['UNREACHABLE', 'GATEWAY_ERROR', 'LIMIT_REACHED', 'SIGNATURE_REFUSED'].map(
    (code): [string, Purchase, PurchaseStatus, 'over' | 'undecided'] => [
      `ended meanwhile, in another tab, and then ${code}`,
      failed(code, earlier, false),
      'unknown',
      'undecided',
    ],
  ),
  [
    'ended meanwhile, of an older version',
    failed('PAYMENT_NOT_APPROVED', continued('0xA', plan, {}), false),
    'lost',
    'undecided',
  ],
  [
    'of before, and the wallet is not to be asked to sign in',
    failed('SIGNATURE_REFUSED', earlier, true),
    'unknown',
    'undecided',
  ],
])('%s | %s', (_name, purchase, status, decision) => {
  expect(statusOf(purchase, MOMENT)).toBe(status)
  expect(isUndecided(purchase, MOMENT.now)).toBe(decision === 'undecided')
})

test('a signed payment of a browser that is offline is perhaps not sent, unless the gateway has it', () => {
  const offline = [
    asked,
    signed,
    sent,
    failed('UNREACHABLE', sent, true),
    { ...sent, record: record('signed') },
  ]
  expect(offline.map((purchase) => statusOf(purchase, { ...MOMENT, isOnline: false }))).toEqual([
    'asked',
    'unsent',
    'unsent',
    'unsent',
    'known',
  ])
})

test('the gateway is asked until the outcome is known', () => {
  expect(
    [asked, sent, failed('GATEWAY_ERROR', sent, true), failed('PAYMENT_UNKNOWN', sent, false)].map((one) =>
      isFollowed(one, MOMENT.now),
    ),
  ).toEqual([true, true, true, true])
  const ends = [
    { ...sent, run: done },
    { ...sent, record: record('credited') },
    failed('ABORTED', asked, false),
    failed('PAYMENT_REFUSED', sent, true),
  ]
  expect(ends.map((one) => isFollowed(one, MOMENT.now))).toEqual([false, false, false, false])
})

/** The second at which the page looks, and the one at which the gateway answered. */
test.each<[string, Purchase, number, number, PurchaseStatus]>([
  ['before its end', ending, 999, 999, 'unknown'],
  ['at its end, without an answer of the gateway', ending, 1000, 1000, 'late'],
  ['stopped, at its end', failed('GATEWAY_ERROR', ending, true), 1000, 1000, 'late'],
  ['unsettled at its end', { ...ending, record: record('pending') }, 1000, 1000, 'late'],
  ['broadcast before its end', { ...ending, record: record('broadcast') }, 1000, 1000, 'known'],
  ['refused before its end, and sent again', { ...ending, record: record('failed') }, 1001, 999, 'late'],
  [
    'refused since its end, while it is sent again',
    { ...ending, record: record('failed') },
    1001,
    1000,
    'expired',
  ],
  [
    'refused since its end',
    failed('PAYMENT_NOT_APPROVED', { ...ending, record: record('failed') }, false),
    1001,
    1000,
    'expired',
  ],
  ['credited', { ...ending, record: record('credited') }, 2000, 999, 'credited'],
])('a payment that is %s', (_name, purchase, second, readAt, status) => {
  const moment = { now: second * 1000, isOnline: true }
  expect(statusOf({ ...purchase, readAt: readAt * 1000 }, moment)).toBe(status)
})

test('an expired payment is followed no more, and another one can be bought when the wallet package signs it', () => {
  const expired = { ...ending, record: record('failed'), readAt: 1_000_000 }
  expect(isFollowed(expired, 1_001_000)).toBe(false)
  expect([1_001_000, 1_059_999, 1_060_000].map((now) => isUndecided(expired, now))).toEqual([
    true,
    true,
    false,
  ])
  expect(secondsToNext(expired, 1_001_000)).toBe(59)
})

const stored = { nonce: '0x01', isRefused: false } as OpenPayment
test.each<[string, Purchase | undefined, OpenPayment, boolean]>([
  ['not shown', undefined, stored, true],
  ['refused', undefined, { ...stored, isRefused: true }, false],
  ['being sent', { ...sent, nonce: '0x01' }, stored, false],
  ['shown', { ...failed('GATEWAY_ERROR', sent, true), nonce: '0x01' }, stored, false],
  ['of a call, after a purchase', { ...sent, run: done, nonce: '0x02' }, stored, true],
  ['of another tab', failed('PURCHASE_UNDER_WAY', asked, false), stored, true],
  ['while this page asks', asked, stored, false],
])('a payment without an outcome that is %s is sent again: %s', (_name, shown, payment, isSent) => {
  expect(isToContinue(payment, shown)).toBe(isSent)
})

test('a wallet is the same in any letter case', () => {
  expect(keyOf('0xAb', 1)).toBe(keyOf('0xaB', 1))
  expect(keyOf('0xAb', 1)).not.toBe(keyOf('0xAb', 2))
})
