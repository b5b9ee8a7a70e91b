import { TollgateError, type Limits } from '@tollgate/wallet'
import { networkOf } from './amounts'
import { STABLECOINS } from './assets/stablecoins'
import { explainLimits } from './refused-terms'
import { testPlan } from './testing/plan'

const plan = testPlan()
const asked = { network: networkOf(plan), asset: plan.asset_address, payTo: plan.pay_to, amount: 10_000n }
const limits: Limits = { assets: [{ ...asked, perPayment: 5_000n, perDay: 20_000n }] }
const ANOTHER = `0x${'d'.repeat(40)}`

const explain = (details: Record<string, unknown>, given: Limits | undefined = limits) =>
  explainLimits(new TollgateError('LIMIT_REACHED', 'too much', { details }), {
    ...{ plan, limits: given, known: STABLECOINS },
  }) as { message: string; advice: string }

test.each([
  [
    'the price of the list',
    { ...asked, limit: 'perPayment' },
    'A purchase of 100 credits costs 0.01 USDC, more than --max-payment 0.005 USDC',
  ],
  [
    'the same recipient in small letters',
    { ...asked, payTo: asked.payTo.toLowerCase(), limit: 'perDay' },
    'A purchase for 0.01 USDC would exceed --max-day 0.02 USDC',
  ],
  [
    'a higher price',
    { ...asked, amount: 1_000_000n, limit: 'perPayment' },
    `The gateway asks for 1 USDC to ${plan.pay_to}, and its price list says 0.01 USDC to ${plan.pay_to}`,
  ],
  [
    'another recipient',
    { ...asked, payTo: ANOTHER, limit: 'recipients' },
    `The gateway asks for 0.01 USDC to ${ANOTHER}, and its price list says 0.01 USDC to ${plan.pay_to}`,
  ],
  [
    'another asset',
    { ...asked, asset: '0xa', limit: 'assets' },
    `The gateway asks for 10000 smallest units of 0xa on eip155:84532 to ${plan.pay_to}, and its price list says 0.01 USDC to ${plan.pay_to}`,
  ],
])('%s', (_, details, message) => expect(explain(details).message).toBe(message))

test('only a price of the list is a reason to raise a limit', () => {
  expect(explain({ ...asked, limit: 'perPayment' }).advice).toMatch(/^Raise the limit/)
  expect(explain({ ...asked, payTo: ANOTHER, limit: 'recipients' }).advice).toContain('Do not raise')
})

test('without limits the price is that of the list', () => {
  const error = new TollgateError('LIMIT_NOT_SET', 'none')
  expect(explainLimits(error, { plan, limits: undefined, known: STABLECOINS })).toMatchObject({
    ...{ code: 'LIMIT_NOT_SET', exitCode: 3 },
    message: 'A purchase of 100 credits costs 0.01 USDC, which no limit allows',
  })
})

describe('a payment that was signed earlier', () => {
  const openUntil = Date.parse('2026-11-25T17:57:01Z') / 1000
  const signed = { ...asked, signedAt: 1, openUntil }

  test.each([
    ['perPayment', 'it is more than --max-payment'],
    ['perDay', 'it would exceed --max-day'],
    ['recipients', 'it is to another recipient than the plan names now'],
    ['assets', 'no --max-payment allows it'],
  ])('is explained with what would allow it and when it ends: %s', (limit, reason) => {
    expect(explain({ ...signed, limit })).toMatchObject({
      message: `A payment of 0.01 USDC was signed earlier and is open until 17:58 UTC. It was not sent, because ${reason}; nothing else was signed`,
      advice:
        'To send it, allow 0.01 USDC with --max-payment, and within --max-day if you give that. It ends by itself at 17:58 UTC.',
    })
  })

  test('may have no end', () => {
    const { openUntil: _, ...endless } = signed
    expect(explain({ ...endless, limit: 'assets' }).message).toMatch(
      /^A payment of 0.01 USDC was signed earlier and is open\. /,
    )
  })
})

test('other errors, and those of a fee, stay as they are', () => {
  const fee = new TollgateError('LIMIT_REACHED', 'The payment bears a fee. Too much', {
    details: { ...asked, asset: '0xfee' },
  })
  for (const error of [new Error('x'), new TollgateError('TIMEOUT', 'late'), fee])
    expect(explainLimits(error, { plan, limits, known: STABLECOINS })).toBe(error)
})
