import { type VerifyResult } from '@tollgate/protocol'
import { createMetrics } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { newPayer, sharedChain } from '../testing/chain'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { paymentRequest } from '../testing/payment'
import { figuresOf } from '../testing/scrape-metrics'
import { measurePayments } from './measured-payments'

afterAll(closeAll)

test('requests to verify and settle are counted and timed by outcome and reason', async () => {
  const { facilitator, verify, settle, settleAtLast } = await facilitatorWithClient()
  const counts = () => figuresOf(facilitator.scrape, 'tollgate_payment_requests_total')
  expect(await counts()).toEqual({
    'operation="verify",outcome="valid",reason=""': 0,
    'operation="verify",outcome="error",reason=""': 0,
    'operation="settle",outcome="settled",reason=""': 0,
    'operation="settle",outcome="pending",reason=""': 0,
    'operation="settle",outcome="error",reason=""': 0,
  })
  const payer = await newPayer(sharedChain())
  const body = await paymentRequest(payer)
  expect(await verify(body)).toMatchObject({ isValid: true })
  expect(await settleAtLast(body)).toMatchObject({ success: true })
  expect(
    await settle({ ...body, paymentRequirements: { ...body.paymentRequirements, scheme: 'upto' } }),
  ).toMatchObject({
    success: false,
    errorReason: 'unsupported_scheme',
  })
  expect(await counts()).toMatchObject({
    'operation="verify",outcome="valid",reason=""': 1,
    'operation="settle",outcome="settled",reason=""': 1,
    'operation="settle",outcome="refused",reason="unsupported_scheme"': 1,
  })
  expect(
    await figuresOf(facilitator.scrape, 'tollgate_payment_request_duration_seconds_count'),
  ).toMatchObject({
    'operation="verify",outcome="valid"': 1,
    'operation="settle",outcome="settled"': 1,
    'operation="settle",outcome="refused"': 1,
  })
})

test('a reason that is no code of the protocol is counted as other, so that no text becomes a label', async () => {
  const metrics = createMetrics()
  const refusal = { isValid: false, invalidReason: 'reverted at 0x5e' } as VerifyResult
  const measured = measurePayments(
    { verify: () => Promise.resolve(refusal), settle: () => Promise.reject(new Error('not asked')) },
    metrics,
  )
  expect(await measured.verify({} as never, {} as never, undefined)).toBe(refusal)
  const figures = await figuresOf(() => metrics.register.metrics(), 'tollgate_payment_requests_total')
  expect(Object.keys(figures)).toContain('operation="verify",outcome="refused",reason="other"')
  expect(Object.keys(figures).join()).not.toContain('0x5e')
})
