import { type Plan } from '@tollgate/wallet'
import { buyer } from '../../texts'
import { begun, continued, type Purchase } from './purchase'
import { outcomeOf, type PurchaseOutcome } from './purchase-outcome'
import { type PaymentProgress } from './purchase-steps'

const texts = buyer.purchase
const plan = { id: 1, credits: 100 } as Plan
const asked = begun('0xA', plan)
const sent: Purchase = { ...asked, stage: 'sent', nonce: '0x01', validUntil: 1000 }
const failure = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code} of the package`), { code, ...more })
const stopped = (before: Purchase, error: unknown, isStored = false): Purchase => ({
  ...before,
  run: { is: 'stopped', error, isStored, isRefused: false },
})
const record = (step: PaymentProgress['step'], next: string | null = null) =>
  ({ step, next, status: '', transaction: null }) as unknown as PaymentProgress
const refused = (reason: string) => failure('PAYMENT_REFUSED', { details: { reason } })
const notSigned = (cause: object) => failure('SIGNATURE_REFUSED', { cause })
const rejection = Object.assign(new Error('User rejected the request.'), { code: 4001 })

/** The table is read at second 960; the payment ends at second 1000. */
test.each<[string, Purchase, Partial<PurchaseOutcome>]>([
  ['asked', asked, { title: undefined, text: '', action: 'cancel' }],
  [
    'the sign-in is declined',
    stopped(asked, notSigned(rejection)),
    { title: 'Nothing was bought', text: texts.declined['sign-in'], action: 'buy' },
  ],
  [
    'the payment is declined',
    stopped({ ...asked, stage: 'sign' }, notSigned(rejection)),
    { text: texts.declined.sign, action: 'buy' },
  ],
  [
    'the wallet fails',
    stopped({ ...asked, stage: 'sign' }, notSigned(new Error('Internal error.'))),
    { text: 'Your wallet could not sign: Internal error. Nothing was paid.', action: 'buy' },
  ],
  [
    'the wallet stays on another network',
    stopped(asked, notSigned(Object.assign(new Error('Stays.'), { code: 'NETWORK_NOT_CHANGED' }))),
    { text: 'Stays.' },
  ],
  [
    'refused for a cause that the reader can remove',
    stopped(sent, refused('insufficient_funds: the payer has 0 USDC, and pays 0.01 USDC'), true),
    { title: 'Nothing was bought', text: texts.reasons.insufficient_funds, action: 'same-again' },
  ],
  [
    'refused for another cause, which the record tells',
    stopped({ ...sent, record: record('failed', 'The amount was not taken.') }, refused('odd')),
    { text: 'The amount was not taken.', action: 'buy' },
  ],
  [
    'refused, and no other payment is approved in its place',
    stopped(
      { ...sent, record: record('failed', 'The amount was not taken.') },
      failure('PAYMENT_NOT_APPROVED'),
    ),
    { text: 'The amount was not taken.' },
  ],
  [
    'refused, and the last request failed otherwise',
    stopped({ ...sent, record: record('failed') }, failure('PAYMENT_PENDING'), true),
    { text: texts.outcomes.refused.text, action: 'same-again' },
  ],
  [
    'under way',
    { ...sent, record: record('pending', 'Wait.') },
    {
      text: 'Wait.',
      countdown: 'Expires in 40 s; after that nothing can be taken.',
      mayClose: texts.mayClose.known,
      action: undefined,
    },
  ],
  [
    'without an answer',
    stopped(sent, failure('GATEWAY_ERROR'), true),
    {
      text: texts.outcomes.unknown.text,
      countdown: 'Expires in 40 s; after that nothing can be taken.',
      action: 'ask-again',
    },
  ],
  [
    'ended, and never known to the gateway',
    {
      ...stopped(continued('0xA', plan, { nonce: '0x01', validUntil: 900 }), failure('PAYMENT_NOT_APPROVED')),
      record: null,
    },
    { title: 'Nothing was bought', text: texts.outcomes.expired.text, countdown: undefined, action: 'buy' },
  ],
  [
    'expired just now',
    { ...sent, validUntil: 950, record: record('failed', 'Sign a new payment.'), readAt: 955_000 },
    { text: texts.outcomes.expired.text, countdown: 'You can buy again in 50 s.', action: undefined },
  ],
  [
    'credited, whatever the last request came to',
    stopped({ ...sent, record: record('credited') }, failure('PAYMENT_NOT_APPROVED')),
    { color: 'green', text: texts.bought('100'), countdown: undefined, action: 'use-credits' },
  ],
])('%s: one outcome', (_name, purchase, expected) => {
  expect(outcomeOf(purchase, { now: 960_000, isOnline: true })).toMatchObject(expected)
})
