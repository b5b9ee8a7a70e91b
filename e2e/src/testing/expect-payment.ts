import { decodePaymentRequiredHeader } from '@x402/core/http'
import { BUDGET, type ObservedWorld } from './observed-world'
import { postJson } from './plain-calls'

type Paid = { plan?: ObservedWorld['plan']; transaction?: string | undefined; calls?: number }

/** The payer's only transfer, granted once; `calls` calls were paid from it. */
export async function expectPaidOnce(
  { plan: usual, token, ledger, creditsOf }: ObservedWorld,
  address: string,
  { plan = usual, calls = 1, ...expected }: Paid = {},
) {
  const [paid, ...more] = await ledger.payments(address)
  expect([paid, more]).toMatchObject([
    { status: 'credited', credits: plan.credits, grants: 1n, ...expected },
    [],
  ])
  expect(await token.transfersOf(paid?.transaction ?? '', address)).toEqual([
    { from: address, to: plan.pay_to, value: BigInt(plan.amount) },
  ])
  expect(await token.balanceOf(address)).toBe(BUDGET - BigInt(plan.amount))
  expect(await creditsOf(address)).toEqual([
    { pricing_plan_id: plan.id, remaining_credits: plan.credits - calls },
  ])
}

/** A payment whose call has ended serves no other one. Until it has ended, the answer is 503. */
export async function expectUsed(
  { ledger }: ObservedWorld,
  { url, json, payment }: { url: string; json: object; payment: Record<string, string> },
) {
  await ledger.settled(30)
  const answer = await postJson(url, json, payment)
  expect([answer.status, await answer.json()]).toMatchObject([402, { error: 'duplicate_settlement' }])
  expect(requiredIn(answer).error).toBe('duplicate_settlement')
}

export const requiredIn = ({ headers }: Response) =>
  decodePaymentRequiredHeader(headers.get('payment-required') ?? '')
