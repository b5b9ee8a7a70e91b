import { type PaymentProgress, type PurchaseView, stepsOf } from './purchase-steps'

const begun: PurchaseView = { stage: 'sign-in', payment: undefined, outcome: 'open' }
const payment = (step: PaymentProgress['step'], transaction: string | null = null) =>
  ({ step, transaction }) as PaymentProgress
const signed: PurchaseView = { ...begun, stage: 'signed' }

/** One letter for each step: done, active, waiting, failed. */
test.each<[string, PurchaseView, string]>([
  ['begun', begun, 'awwww'],
  ['priced', { ...begun, stage: 'sign' }, 'dawww'],
  ['refused by the wallet', { ...begun, stage: 'sign', outcome: 'failed' }, 'dfwww'],
  ['signed', signed, 'ddaww'],
  ['known to the gateway', { ...signed, payment: payment('signed') }, 'ddaww'],
  ['broadcast', { ...signed, payment: payment('broadcast', '0x1') }, 'dddaw'],
  ['pending, and accepted by no node', { ...signed, payment: payment('pending') }, 'ddaww'],
  ['pending', { ...signed, payment: payment('pending', '0x1') }, 'dddaw'],
  ['confirmed', { ...signed, payment: payment('confirmed', '0x1') }, 'dddda'],
  ['bought', { ...signed, payment: payment('credited', '0x1'), outcome: 'bought' }, 'ddddd'],
  ['bought before the page saw a payment', { ...signed, outcome: 'bought' }, 'ddddd'],
  ['refused by the gateway', { ...signed, payment: payment('failed'), outcome: 'failed' }, 'ddfww'],
  ['reverted on chain', { ...signed, payment: payment('failed', '0x1'), outcome: 'failed' }, 'dddfw'],
])('%s', (_name, view, states) => {
  expect(
    stepsOf(view)
      .map(({ state }) => state[0])
      .join(''),
  ).toBe(states)
})
